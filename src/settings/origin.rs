//! Where the value of each field comes from.

use std::collections::BTreeMap;
use std::fmt;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nobody gave it.
    Default,
    /// This line of the file.
    Line(usize),
    /// This environment variable.
    Variable(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => write!(f, "default"),
            Origin::Line(line) => write!(f, "line {line}"),
            Origin::Variable(name) => write!(f, "{name}"),
        }
    }
}

/// The origins of all fields that were given: by section, which of several, and name.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins(BTreeMap<(&'static str, usize, &'static str), Origin>);

impl Origins {
    pub(super) fn insert(
        &mut self,
        section: &'static str,
        index: usize,
        name: &'static str,
        origin: Origin,
    ) {
        self.0.insert((section, index, name), origin);
    }

    pub(super) fn of(&self, section: &str, index: usize, name: &str) -> Origin {
        self.0.get(&(section, index, name)).cloned().unwrap_or(Origin::Default)
    }
}
