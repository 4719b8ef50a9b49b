//! Rules about the shape of a file.

use super::source::{Source, Violation, has_word};

/// Every file says why it exists, briefly; more may follow in paragraphs of their own.
pub(crate) fn header(source: &Source) -> Vec<Violation> {
    let lines = source.lines.iter().take_while(|line| line.starts_with("//! ")).count();
    match lines {
        0 => vec![source.violation(1, "no header: begin with `//!` and why this file exists")],
        1..=LONGEST_HEADER => Vec::new(),
        _ => vec![source.violation(
            LONGEST_HEADER + 1,
            format!("the header begins with {lines} lines: say it in {LONGEST_HEADER}"),
        )],
    }
}

/// No file grows into the one central file.
pub(crate) fn length(source: &Source) -> Vec<Violation> {
    let all = source.lines.len();
    let production = if source.is_test() { all } else { source.tests_from() };
    let mut found = Vec::new();
    if production > LONGEST_FILE {
        let what = format!("{production} lines: split it by what changes together");
        found.push(source.violation(LONGEST_FILE + 1, what));
    }
    if all - production > LONGEST_TESTS {
        let what = format!("{} lines of tests: move them to a file of their own", all - production);
        found.push(source.violation(production + 1, what));
    }
    found
}

/// A file is named after a thing of the domain.
pub(crate) fn name(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for part in source.path.trim_end_matches(".rs").split('/') {
        if NOT_NAMES.contains(&part) {
            let what = format!("'{part}' says nothing: name it after what it holds");
            found.push(source.violation(1, what));
        }
    }
    if source.path.ends_with("/mod.rs") {
        found.push(source.violation(1, "mod.rs: write `x.rs` beside the folder `x/`"));
    }
    found
}

/// Production code does not panic on what can happen.
pub(crate) fn no_unwrap(source: &Source) -> Vec<Violation> {
    let unwrap = concat!(".unwrap", "()");
    let lines = source.code().filter(|(_, line)| line.contains(unwrap));
    let what = "unwrap: handle it, or `expect` with the reason it cannot fail";
    lines.map(|(line, _)| source.violation(line, what)).collect()
}

/// What is not done is an issue, not a remark.
pub(crate) fn banned_words(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(&source.lines) {
        for word in BANNED.iter().filter(|word| has_word(line, word)) {
            let what = format!("{word}: do it, or open an issue and take the mark away");
            found.push(source.violation(number, what));
        }
    }
    found
}

const LONGEST_HEADER: usize = 10;
const LONGEST_FILE: usize = 500;
const LONGEST_TESTS: usize = 300;
const NOT_NAMES: &[&str] = &["utils", "util", "common", "helpers", "misc", "manager"];
/// In halves, so that this table does not break its own rule.
const BANNED: &[&str] =
    &[concat!("FIX", "ME"), concat!("XX", "X"), concat!("to", "do!"), concat!("db", "g!")];

#[cfg(test)]
mod planted {
    use super::*;

    fn shown(found: Vec<Violation>) -> Vec<String> {
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_missing_header_is_found() {
        let found = shown(header(&Source::new("src/a.rs", "use std::fs;\n")));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("src/a.rs:1: no header"));
        assert!(header(&Source::new("src/a.rs", "//! Why.\n")).is_empty());
        let long = Source::new("src/a.rs", &"//! Why.\n".repeat(11));
        assert!(shown(header(&long))[0].starts_with("src/a.rs:11: "));
    }

    #[test]
    fn a_file_is_as_long_as_its_production_lines() {
        let body = "x\n".repeat(500);
        let tests = format!("{body}#[cfg(test)]\n{}", "y\n".repeat(299));
        assert!(length(&Source::new("src/a.rs", &tests)).is_empty());
        let longer = format!("{body}x\n");
        assert!(
            shown(length(&Source::new("src/a.rs", &longer)))[0]
                .starts_with("src/a.rs:501: 501 lines")
        );
        let more_tests = format!("{tests}y\n");
        assert!(
            shown(length(&Source::new("src/a.rs", &more_tests)))[0].contains("301 lines of tests")
        );
    }

    #[test]
    fn empty_names_are_found_anywhere_in_a_path() {
        for path in ["src/utils.rs", "mount/src/common/a.rs", "src/agent/mod.rs"] {
            assert_eq!(name(&Source::new(path, "")).len(), 1, "{path}");
        }
        assert!(name(&Source::new("src/cli/helper.rs", "")).is_empty());
    }

    #[test]
    fn unwrap_counts_in_production_only() {
        let text = format!(
            "//! Why.\nlet x = y{0};\n// y{0}\n#[cfg(test)]\nlet x = y{0};\n",
            concat!(".unwrap", "()")
        );
        let found = shown(no_unwrap(&Source::new("src/a.rs", &text)));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("src/a.rs:2: "));
        assert!(no_unwrap(&Source::new("tests/a.rs", &text)).is_empty());
    }

    #[test]
    fn banned_words_count_everywhere_but_not_in_others() {
        let text = format!("//! Why.\n// {}: later\nlet to{} = 1;\n", BANNED[0], &BANNED[2][2..4]);
        let found = shown(banned_words(&Source::new("tests/a.rs", &text)));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("tests/a.rs:2: "));
    }
}
