//! A source file as the rules see it: its path from the root of the workspace, its lines, and
//! where its tests begin.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// One file.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) lines: Vec<String>,
}

/// A rule that is not kept.
#[derive(Debug)]
pub(crate) struct Violation {
    path: String,
    line: usize,
    what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), lines: text.lines().map(str::to_owned).collect() }
    }

    /// A violation in a line, counted from one.
    pub(crate) fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation { path: self.path.clone(), line, what: what.into() }
    }

    /// Whether all of it is for tests.
    pub(crate) fn is_test(&self) -> bool {
        let room = |name: &str| self.path.split('/').any(|part| part == name);
        room("tests") || room("benches") || self.path.ends_with("/tests.rs")
    }

    /// The lines before the tests in the file, with their numbers.
    pub(crate) fn production(&self) -> impl Iterator<Item = (usize, &str)> {
        let end = if self.is_test() { 0 } else { self.tests_from() };
        (1..).zip(self.lines[..end].iter().map(String::as_str))
    }

    /// The number of lines before the tests in the file.
    pub(crate) fn tests_from(&self) -> usize {
        let start = self.lines.iter().position(|line| line == "#[cfg(test)]");
        start.unwrap_or(self.lines.len())
    }

    /// The code before the tests: lines that are not comments.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.production().filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// Whether a word stands in a line as itself, not as a part of another.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

/// Every source of the workspace.
pub(crate) fn all() -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    for room in ROOMS {
        walk(&root.join(room), &mut found);
    }
    found.sort();
    found.iter().map(|path| read(&root, path)).collect()
}

/// The directory of the workspace.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(root: &Path, path: &Path) -> Source {
    let text = fs::read_to_string(path).expect("a source is text that can be read");
    let relative = path.strip_prefix(root).expect("it was found below the root");
    Source::new(&relative.display().to_string(), &text)
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    // A room may not have been built yet.
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

const ROOMS: &[&str] = &["src", "mount", "scheduler", "ci", "tests"];
