//! Patterns of paths, as shells have them.

/// A pattern: `*` is any number of characters but `/`, `**` any number of any, `?` one but `/`. One
/// without a `/` is a pattern of names, in whatever directory they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Understand a text, or say what is wrong with it.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        if text.is_empty() {
            return Err("a pattern needs a character at least: write \"*\" for every file".into());
        }
        if text.len() > LONGEST {
            return Err(format!("{} bytes are too long for a pattern: {LONGEST}", text.len()));
        }
        if text.starts_with('/') {
            return Err(format!("'{text}' begins with /: a pattern begins below the export"));
        }
        Ok(Pattern(text.into()))
    }

    /// Whether a path below the export is meant.
    pub fn matches(&self, path: &[u8]) -> bool {
        if self.0.contains('/') {
            return matches(self.0.as_bytes(), path);
        }
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        matches(self.0.as_bytes(), name)
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which beginnings of the pattern fit the path so far, character by character: no pattern takes
/// longer than its length times that of the path.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let mut fits = vec![false; pattern.len() + 1];
    fits[0] = true;
    pass_stars(pattern, &mut fits);
    for byte in path {
        let mut next = vec![false; pattern.len() + 1];
        for at in (0..pattern.len()).filter(|at| fits[*at]) {
            let any = at > 0 && pattern[at] == b'*' && pattern[at - 1] == b'*';
            match pattern[at] {
                b'*' => next[at] |= any || *byte != b'/' || pattern.get(at + 1) == Some(&b'*'),
                b'?' => next[at + 1] |= *byte != b'/',
                literal => next[at + 1] |= literal == *byte,
            }
        }
        pass_stars(pattern, &mut next);
        fits = next;
    }
    fits[pattern.len()]
}

/// A star may stand for nothing.
fn pass_stars(pattern: &[u8], fits: &mut [bool]) {
    for at in 0..pattern.len() {
        if pattern[at] == b'*' && fits[at] {
            fits[at + 1] = true;
        }
    }
}

/// Bytes of a pattern.
const LONGEST: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, path: &str) -> bool {
        Pattern::parse(pattern).expect("a pattern").matches(path.as_bytes())
    }

    #[test]
    fn a_pattern_without_a_slash_is_one_of_names() {
        assert!(fits("*.h5", "a.h5") && fits("*.h5", "deep/down/a.h5"));
        assert!(!fits("*.h5", "a.h5/b") && !fits("*.h5", "a.h55"));
        assert!(fits("*", "any/thing") && fits("a?c", "abc") && !fits("a?c", "ac"));
    }

    #[test]
    fn a_pattern_with_a_slash_is_one_of_paths() {
        assert!(fits("run/*.dat", "run/1.dat") && !fits("run/*.dat", "run/1/2.dat"));
        assert!(fits("run/**", "run/1/2.dat") && fits("**/x", "a/b/x"));
        assert!(fits("a**/d", "abc/c/d") && !fits("a/?/d", "a///d"));
        assert!(!fits("run/*", "other/run/1"));
    }

    #[test]
    fn no_pattern_takes_long() {
        let path = "a".repeat(4_000);
        assert!(!fits(&"*a".repeat(200), &format!("{path}b")));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        assert!(Pattern::parse("").is_err() && Pattern::parse("/abs").is_err());
        assert!(Pattern::parse(&"a".repeat(1_025)).is_err());
    }
}
