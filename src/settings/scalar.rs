//! A single value of the settings as it was typed.

use toml::de::{DeInteger, DeValue};

use super::origin::Origin;

/// A single value as it was typed.
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) shape: Shape,
    pub(super) origin: Origin,
}

/// What kind of value was typed. A variable has none: its text may be anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Number,
    Flag,
    List,
    Variable,
}

impl Scalar {
    pub(super) fn new(value: &DeValue<'_>, line: usize) -> Scalar {
        let (shape, text) = match value {
            DeValue::String(text) => (Shape::Text, text.to_string()),
            DeValue::Integer(number) => (Shape::Number, decimal(number)),
            DeValue::Float(number) => (Shape::Number, number.to_string()),
            DeValue::Boolean(flag) => (Shape::Flag, flag.to_string()),
            DeValue::Datetime(date) => (Shape::Text, date.to_string()),
            DeValue::Array(_) => (Shape::List, "a list".into()),
            DeValue::Table(_) => (Shape::List, "a section".into()),
        };
        Scalar { text, shape, origin: Origin::Line(line) }
    }

    /// As messages show it.
    pub(super) fn quoted(&self) -> String {
        match self.shape {
            Shape::Text | Shape::Variable => format!("'{}'", self.text),
            Shape::Number | Shape::Flag | Shape::List => self.text.clone(),
        }
    }
}

/// A whole number in digits of ten, however it was typed.
fn decimal(number: &DeInteger<'_>) -> String {
    match i128::from_str_radix(number.as_str(), number.radix()) {
        Ok(value) => value.to_string(),
        Err(_) => number.to_string(),
    }
}
