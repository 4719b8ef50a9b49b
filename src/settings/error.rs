//! What is wrong with a settings file: every problem with its place.

use std::fmt;

/// All that is wrong with a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The file.
    pub file: String,
    /// What is wrong, in the order of the file; never empty.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where in the file, counted from one; `None` if it is not a line that is wrong.
    pub line: Option<usize>,
    /// The field, as `section.name`; empty if the file as a whole is wrong.
    pub field: String,
    /// What was given, and what may be.
    pub what: String,
}

impl SettingsError {
    /// The file as a whole is wrong.
    pub(super) fn whole(file: &str, what: String) -> SettingsError {
        let problem = Problem { line: None, field: String::new(), what };
        SettingsError { file: file.into(), problems: vec![problem] }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{}:", self.file)?;
            if let Some(line) = problem.line {
                write!(f, "{line}:")?;
            }
            if !problem.field.is_empty() {
                write!(f, " {}:", problem.field)?;
            }
            write!(f, " {}", problem.what)?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsError {}
