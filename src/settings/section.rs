//! Reading a settings file field by field. What is wrong is written down with its line and reading
//! goes on with the default, so that all problems are told at once.

use std::cell::RefCell;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Problem;
use super::field::{self, Field, SECTIONS, Unit};
use super::nearest::nearest;
use super::origin::{Origin, Origins};
use super::scalar::{Scalar, Shape};

/// The file under the reader's eyes.
pub(super) struct Reader<'t> {
    text: &'t str,
    /// The environment.
    variables: &'t dyn Fn(&str) -> Option<String>,
    problems: RefCell<Vec<Problem>>,
    origins: RefCell<Origins>,
}

/// One section of the file, there or not.
pub(super) struct Section<'t> {
    reader: &'t Reader<'t>,
    /// Its name, as in the table of fields.
    name: &'static str,
    /// Which of several it is.
    index: usize,
    table: Option<&'t DeTable<'t>>,
    line: Option<usize>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str, variables: &'t dyn Fn(&str) -> Option<String>) -> Reader<'t> {
        Reader { text, variables, problems: RefCell::default(), origins: RefCell::default() }
    }

    /// The fields above all sections; they stand beside the sections' names.
    pub(super) fn top(&'t self, table: &'t DeTable<'t>) -> Section<'t> {
        Section { reader: self, name: "", index: 0, table: Some(table), line: None }
    }

    /// A section that may be there once.
    pub(super) fn one(&'t self, top: &'t DeTable<'t>, name: &'static str) -> Section<'t> {
        let mut section = Section { reader: self, name, index: 0, table: None, line: None };
        if let Some((_, value)) = find(top, name) {
            section.line = Some(self.line_of(value));
            section.table = value.get_ref().as_table();
            if section.table.is_none() {
                self.refuse(section.line, name, format!("it is a section: write [{name}]"));
            }
        }
        section
    }

    /// A section that may be there several times.
    pub(super) fn several(&'t self, top: &'t DeTable<'t>, name: &'static str) -> Vec<Section<'t>> {
        let Some((_, value)) = find(top, name) else { return Vec::new() };
        let entries = value.get_ref().as_array().map_or(&[][..], |entries| &entries[..]);
        let mut sections = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let line = Some(self.line_of(entry));
            if let Some(table) = entry.get_ref().as_table() {
                sections.push(Section { reader: self, name, index, table: Some(table), line });
            }
        }
        if sections.is_empty() || sections.len() < entries.len() {
            let what = format!("there may be several: write [[{name}]] above the fields of each");
            self.refuse(Some(self.line_of(value)), name, what);
        }
        sections
    }

    pub(super) fn refuse(&self, line: Option<usize>, field: &str, what: String) {
        self.problems.borrow_mut().push(Problem { line, field: field.into(), what });
    }

    /// What was found: the origin of every field, or all that is wrong, in the order of the file.
    pub(super) fn finish(self) -> Result<Origins, Vec<Problem>> {
        let mut problems = self.problems.into_inner();
        if problems.is_empty() {
            return Ok(self.origins.into_inner());
        }
        problems.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
        Err(problems)
    }

    fn line_of<T>(&self, spanned: &Spanned<T>) -> usize {
        line_at(self.text, spanned.span().start)
    }
}

impl Section<'_> {
    /// Whether it is in the file, or a variable gives one of its fields.
    pub(super) fn is_given(&self) -> bool {
        let variables = self.reader.variables;
        let given = |field: &Field| field.variable.and_then(variables).is_some();
        self.table.is_some() || field::in_section(self.name).any(given)
    }

    /// A number with a default.
    pub(super) fn number<N: TryFrom<u64>>(&self, name: &str) -> N {
        self.bounded(name)
            .and_then(|number| N::try_from(number).ok())
            .expect("the table of fields has a default, and bounds that fit")
    }

    /// A number in its bounds; its default if it is not given.
    pub(super) fn bounded(&self, name: &str) -> Option<u64> {
        let field = self.field(name);
        let bound = field.bound.expect("a number has bounds in the table of fields");
        let Some(scalar) = self.scalar(field) else { return bound.default };
        let is_number = match scalar.shape {
            Shape::Number | Shape::Variable => true,
            Shape::Text => bound.unit != Unit::Count,
            Shape::Flag | Shape::List => false,
        };
        let meant = match is_number {
            true => bound.read(&scalar.text),
            false => Err(format!(
                "{} is no number: write {}, without quotation marks",
                scalar.quoted(),
                bound.range()
            )),
        };
        meant.map_err(|what| self.refuse_value(field, &scalar.origin, what)).ok().or(bound.default)
    }

    /// A text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let field = self.field(name);
        let scalar = self.scalar(field)?;
        match scalar.shape {
            Shape::Text | Shape::Variable => Some(scalar.text),
            Shape::Number | Shape::Flag | Shape::List => {
                let what = format!("{} is no text: write one in quotation marks", scalar.quoted());
                self.refuse_value(field, &scalar.origin, what);
                None
            }
        }
    }

    /// A word, or a number as it stands there.
    pub(super) fn word(&self, name: &str) -> Option<String> {
        let field = self.field(name);
        let scalar = self.scalar(field)?;
        match scalar.shape {
            Shape::Text | Shape::Variable | Shape::Number => Some(scalar.text),
            Shape::Flag | Shape::List => {
                let what = format!("{} is neither a word nor a number", scalar.quoted());
                self.refuse_value(field, &scalar.origin, what);
                None
            }
        }
    }

    /// A path from the root on.
    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        let text = self.text(name)?;
        if !text.starts_with('/') {
            let what = format!(
                "'{text}' does not begin with /: write the whole path, an agent has no directory \
                 of its own"
            );
            self.refuse(name, what);
        }
        Some(text.into())
    }

    /// Yes or no.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        let field = self.field(name);
        let Some(scalar) = self.scalar(field) else { return default };
        if scalar.shape == Shape::Flag {
            return scalar.text == "true";
        }
        let what = format!("{}: write true or false, without quotation marks", scalar.quoted());
        self.refuse_value(field, &scalar.origin, what);
        default
    }

    /// A list of texts.
    pub(super) fn list(&self, name: &str) -> Option<Vec<String>> {
        let field = self.field(name);
        let (_, value) = find(self.table?, name)?;
        let origin = Origin::Line(self.reader.line_of(value));
        let entries = value.get_ref().as_array();
        let texts = entries.and_then(|entries| {
            entries.iter().map(|entry| entry.get_ref().as_str().map(String::from)).collect()
        });
        if texts.is_none() {
            let what = "it is a list of texts: write [\"one\", \"another\"]".into();
            self.refuse_value(field, &origin, what);
        }
        self.remember(field, origin);
        texts
    }

    /// Refuse what stands in a field, or that nothing does.
    pub(super) fn refuse(&self, name: &str, what: String) {
        let field = self.field(name);
        let origin = self.reader.origins.borrow().of(self.name, self.index, name);
        self.refuse_value(field, &origin, what);
    }

    /// Refuse fields that nobody knows.
    pub(super) fn refuse_unknown(&self) {
        let mut known: Vec<&str> = field::in_section(self.name).map(|field| field.name).collect();
        if self.name.is_empty() {
            known.extend(SECTIONS);
        }
        for (key, _) in self.table.into_iter().flatten() {
            let typed: &str = key.get_ref();
            if !known.contains(&typed) {
                let line = Some(self.reader.line_of(key));
                let what = unknown(typed, self.name, &known);
                self.reader.refuse(line, &path(self.name, typed), what);
            }
        }
    }

    /// The value of a field, from the environment before the file.
    fn scalar(&self, field: &'static Field) -> Option<Scalar> {
        let scalar = self.variable(field).or_else(|| {
            let (_, value) = find(self.table?, field.name)?;
            Some(Scalar::new(value.get_ref(), self.reader.line_of(value)))
        })?;
        self.remember(field, scalar.origin.clone());
        Some(scalar)
    }

    fn variable(&self, field: &'static Field) -> Option<Scalar> {
        let name = field.variable?;
        let text = (self.reader.variables)(name)?;
        Some(Scalar { text, shape: Shape::Variable, origin: Origin::Variable(name) })
    }

    fn field(&self, name: &str) -> &'static Field {
        field::find(self.name, name).expect("it is in the table of fields")
    }

    fn remember(&self, field: &Field, origin: Origin) {
        self.reader.origins.borrow_mut().insert(self.name, self.index, field.name, origin);
    }

    fn refuse_value(&self, field: &Field, origin: &Origin, what: String) {
        let (line, what) = match origin {
            Origin::Line(line) => (Some(*line), what),
            Origin::Variable(name) => (None, format!("{what} (it comes from {name})")),
            Origin::Default => (self.line, what),
        };
        self.reader.refuse(line, &field.path(), what);
    }
}

fn find<'t>(
    table: &'t DeTable<'t>,
    name: &str,
) -> Option<(&'t Spanned<std::borrow::Cow<'t, str>>, &'t Spanned<DeValue<'t>>)> {
    table.iter().find(|(key, _)| key.get_ref() == name)
}

fn unknown(typed: &str, section: &str, known: &[&str]) -> String {
    let elsewhere = field::FIELDS.iter().find(|field| field.name == typed);
    let hint = match (nearest(typed, known), elsewhere) {
        (Some(name), _) => format!("did you mean {name}? "),
        (None, Some(field)) if !field.section.is_empty() => {
            format!("it belongs below [{}]; ", field.section)
        }
        (None, Some(_)) => "it belongs above all sections; ".into(),
        (None, None) => String::new(),
    };
    let place = if section.is_empty() { "here".into() } else { format!("in [{section}]") };
    format!("there is no such field {place}: {hint}known are {}", known.join(", "))
}

fn path(section: &str, name: &str) -> String {
    if section.is_empty() { name.into() } else { format!("{section}.{name}") }
}

/// The line of a place in the text, counted from one.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}
