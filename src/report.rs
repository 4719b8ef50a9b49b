//! Named numbers that one process sends and another shows.

use std::fmt::Write;

/// Named numbers, in the order in which they are to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    lines: Vec<(String, String)>,
}

impl Report {
    /// One named number.
    pub fn of(name: &str, value: impl ToString) -> Report {
        Report { lines: vec![(name.into(), value.to_string())] }
    }

    /// Add a number.
    pub fn add(&mut self, name: &str, value: impl ToString) {
        self.lines.push((name.into(), value.to_string()));
    }

    /// Add what another report has, but for names that are there already.
    pub fn extend(&mut self, other: &Report) {
        for (name, value) in other.iter() {
            if self.get(name).is_none() {
                self.add(name, value);
            }
        }
    }

    /// A value by its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.lines.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// One name and value a line.
    pub fn to_text(&self) -> String {
        self.lines.iter().fold(String::new(), |mut text, (name, value)| {
            let _ = writeln!(text, "{name} {value}");
            text
        })
    }

    /// What [`Report::to_text`] wrote; lines that it would not write are passed over.
    pub fn from_text(text: &str) -> Report {
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        Report { lines: lines.map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// The names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_being_sent() {
        let mut report = Report::default();
        report.add("reads", 7);
        report.add("policy", "twins");
        assert_eq!(Report::from_text(&report.to_text()), report);
        assert_eq!(report.get("reads"), Some("7"));
        assert_eq!(report.get("writes"), None);
    }
}
