//! What may stand in a field of a scenario file, and what is said when something else does.

use serde::de::{Deserialize, Deserializer, Error};

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::preset::THESIS;
use iofwd_scheduler::sim::{Device, Pattern};
use iofwd_scheduler::time::Span;

use crate::quantity;

use super::super::scheduler::Daemon;
use super::super::spec::{OPERATIONS, PATTERNS};

/// A number of bytes, as text or as a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size(pub(super) u64);

/// A length of time, as text; zero may be written too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length(pub(super) Span);

/// A pattern by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternName(pub(super) Pattern);

/// An operation by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationName(pub(super) Operation);

/// A device by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceName(pub(super) Device);

/// A daemon by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct DaemonName(pub(super) Daemon);

/// Text or a number: a size may be either.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum TextOrNumber {
    Text(String),
    Number(u64),
    Fraction(f64),
    Other(serde::de::IgnoredAny),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Size, D::Error> {
        match TextOrNumber::deserialize(from)? {
            TextOrNumber::Number(bytes) => Ok(Size(bytes)),
            TextOrNumber::Text(text) => quantity::bytes(&text).map(Size).map_err(Error::custom),
            TextOrNumber::Fraction(number) => Err(Error::custom(no_size(&number.to_string()))),
            TextOrNumber::Other(_) => Err(Error::custom(no_size("this"))),
        }
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Length, D::Error> {
        match TextOrNumber::deserialize(from)? {
            TextOrNumber::Text(text) if ZERO.contains(&text.as_str()) => Ok(Length(Span::ZERO)),
            TextOrNumber::Text(text) => quantity::span(&text).map(Length).map_err(Error::custom),
            TextOrNumber::Number(number) => Err(Error::custom(no_unit(&number.to_string()))),
            TextOrNumber::Fraction(number) => Err(Error::custom(no_unit(&number.to_string()))),
            TextOrNumber::Other(_) => Err(Error::custom(no_unit("this"))),
        }
    }
}

fn no_size(value: &str) -> String {
    format!("{value} is no size: write for example \"64K\" or 4096")
}

fn no_unit(value: &str) -> String {
    format!("{value} is no time: write it with its unit, for example \"125us\", \"1ms\" or \"2s\"")
}

const ZERO: [&str; 5] = ["0", "0ns", "0us", "0ms", "0s"];

/// A name out of a list.
fn chosen<'de, D: Deserializer<'de>, T: Copy>(
    from: D,
    what: &str,
    known: &[(&str, T)],
) -> Result<T, D::Error> {
    let name = String::deserialize(from)?;
    let found = known.iter().find(|(one, _)| *one == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        Error::custom(format!("no {what} \"{name}\": write {}", names.join(", ")))
    })
}

impl<'de> Deserialize<'de> for PatternName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PatternName, D::Error> {
        chosen(from, "pattern", &PATTERNS).map(PatternName)
    }
}

impl<'de> Deserialize<'de> for OperationName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<OperationName, D::Error> {
        chosen(from, "operation", &OPERATIONS).map(OperationName)
    }
}

impl<'de> Deserialize<'de> for DaemonName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<DaemonName, D::Error> {
        chosen(from, "daemon", &Daemon::ALL).map(DaemonName)
    }
}

impl<'de> Deserialize<'de> for DeviceName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<DeviceName, D::Error> {
        let known = [
            ("hdd", Device::HDD),
            ("ssd", Device::SSD),
            ("null", Device::NULL),
            ("thesis", THESIS.device),
        ];
        chosen(from, "device", &known).map(DeviceName)
    }
}
