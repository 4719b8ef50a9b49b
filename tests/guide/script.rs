//! The commands of a guide: lines of its code blocks that begin with a node's name and a `#`.

/// A command, and where it is typed.
pub(crate) struct Line {
    pub(crate) node: String,
    pub(crate) command: String,
    /// It ends with `&`: it goes on while others are typed.
    pub(crate) stays: bool,
}

/// All of them, in order. What stands between `<<'END'` and `END` belongs to its command.
pub(crate) fn lines(guide: &str, nodes: &[&str]) -> Vec<Line> {
    let mut rest = guide
        .lines()
        .filter_map(|line| line.strip_prefix("    ").or(Some("").filter(|_| line.is_empty())));
    let mut found = Vec::new();
    while let Some(line) = rest.next() {
        let Some((node, command)) = line.split_once("# ") else { continue };
        if !nodes.contains(&node) {
            continue;
        }
        let mut command = command.to_owned();
        if command.ends_with("<<'END'") {
            for more in rest.by_ref() {
                command = format!("{command}\n{more}");
                if more == "END" {
                    break;
                }
            }
        }
        let stays = command.ends_with(" &");
        let command = command.trim_end_matches(" &").to_owned();
        found.push(Line { node: node.to_owned(), command, stays });
    }
    found
}

#[test]
fn commands_are_found_with_what_belongs_to_them() {
    let guide =
        "text\n\n    a# one\n    b# cat <<'END'\n    x\n\n    END\n    c# no\n    a# two &\n";
    let found = lines(guide, &["a", "b"]);
    let shown: Vec<_> =
        found.iter().map(|l| (l.node.as_str(), l.command.as_str(), l.stays)).collect();
    assert_eq!(
        shown,
        [("a", "one", false), ("b", "cat <<'END'\nx\n\nEND", false), ("a", "two", true)]
    );
}
