//! JSON, as much of it as reports need: values in the order in which they were put, written so
//! that any parser reads them back.

use std::fmt;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Whole(u64),
    Real(f64),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(&'static str, Value)>),
}

impl Value {
    pub(super) fn list<T>(
        items: impl IntoIterator<Item = T>,
        value: impl FnMut(T) -> Value,
    ) -> Value {
        Value::List(items.into_iter().map(value).collect())
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Whole(value) => write!(f, "{value}"),
            // There is no JSON for what is no number.
            Value::Real(value) if !value.is_finite() => f.write_str("null"),
            Value::Real(value) => write!(f, "{value}"),
            Value::Text(value) => write_text(f, value),
            Value::List(values) => {
                let each = |f: &mut fmt::Formatter<'_>, one: &Value| one.write(f, depth + 1);
                write_block(f, ['[', ']'], values, depth, each)
            }
            Value::Object(fields) => write_block(f, ['{', '}'], fields, depth, |f, (name, one)| {
                write_text(f, name)?;
                f.write_str(": ")?;
                one.write(f, depth + 1)
            }),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Whole(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.into())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

fn write_block<T>(
    f: &mut fmt::Formatter<'_>,
    ends: [char; 2],
    items: &[T],
    depth: usize,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    write!(f, "{}", ends[0])?;
    for (index, item) in items.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(f, "{comma}\n{:width$}", "", width = 2 * (depth + 1))?;
        write(f, item)?;
    }
    if !items.is_empty() {
        write!(f, "\n{:width$}", "", width = 2 * depth)?;
    }
    write!(f, "{}", ends[1])
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(f, "\\{letter}")?,
            '\0'..' ' => write!(f, "\\u{:04x}", u32::from(letter))?,
            _ => write!(f, "{letter}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_as_json_wants_them() {
        let value = Value::Object(vec![
            ("none", None::<u64>.into()),
            ("yes", true.into()),
            ("large", u64::MAX.into()),
            ("part", 0.1.into()),
            ("nothing", f64::NAN.into()),
            ("list", Value::list([1_u64, 2], Value::from)),
            ("empty", Value::List(Vec::new())),
        ]);
        let text = "{\n  \"none\": null,\n  \"yes\": true,\n  \"large\": 18446744073709551615,\n  \
                    \"part\": 0.1,\n  \"nothing\": null,\n  \"list\": [\n    1,\n    2\n  ],\n  \
                    \"empty\": []\n}";
        assert_eq!(value.to_string(), text);
    }

    #[test]
    fn quotes_and_control_letters_are_escaped() {
        let value = Value::from("a \"b\" \\ \n\u{1} é");
        assert_eq!(value.to_string(), r#""a \"b\" \\ \u000a\u0001 é""#);
    }
}
