//! Which known name was probably meant.

/// The known name that is nearest, if one is near enough to be a slip of the fingers.
pub(super) fn nearest<'n>(typed: &str, known: &[&'n str]) -> Option<&'n str> {
    let near = |name: &&str| distance(typed, name);
    let best = known.iter().min_by_key(|name| near(name))?;
    let allowed = match typed.chars().count() {
        0..=3 => 1,
        letters => (letters / 3).max(2),
    };
    (near(best) <= allowed).then_some(best)
}

/// How many letters must be put in, left out or changed, row by row of the usual table.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (at, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["policy", "window", "depth"];
        assert_eq!(nearest("polcy", &known), Some("policy"));
        assert_eq!(nearest("windows", &known), Some("window"));
        assert_eq!(nearest("dpeth", &known), Some("depth"));
        assert_eq!(nearest("export", &known), None);
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn the_distance_counts_letters() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
