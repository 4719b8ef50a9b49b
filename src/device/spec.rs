//! Which device: a preset by its name, and what is different from it.

use std::fmt;
use std::str::FromStr;

use iofwd_scheduler::sim::{Congestion, Device, Rate};
use iofwd_scheduler::time::Span;

use crate::quantity;

/// The parameters of a device, and of the server that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub(super) device: Device,
    pub(super) congestion: Congestion,
    /// Which places objects have, of all they might have.
    pub(super) places: u32,
    text: String,
}

impl FromStr for Spec {
    type Err = String;

    /// `hdd`, `ssd` or `null`, and then maybe `,read=200M,seek_max=12ms` and so on.
    fn from_str(text: &str) -> Result<Spec, String> {
        let mut words = text.split(',').map(str::trim);
        let name = words.next().unwrap_or_default();
        let device = Device::by_name(name)
            .ok_or_else(|| format!("no device '{name}': choose one of {}", PRESETS.join(", ")))?;
        let mut spec = Spec { device, congestion: Congestion::NONE, places: 0, text: text.into() };
        words.try_for_each(|word| spec.apply(word))?;
        Ok(spec)
    }
}

impl Spec {
    fn apply(&mut self, word: &str) -> Result<(), String> {
        let (name, value) = word.split_once('=').ok_or_else(|| unknown(word))?;
        let Spec { device, congestion, places, .. } = self;
        let span = || span(value).map_err(|what| format!("{name}: {what}"));
        let rate = || quantity::bytes(value).map(Rate::per_second);
        let rate = || rate().map_err(|what| format!("{name}, in a second: {what}"));
        match name {
            "read" => device.read = rate()?,
            "write" => device.write = rate()?,
            "command" => device.command = span()?,
            "access" => device.access = span()?,
            "seek_min" => device.seek_min = span()?,
            "seek_max" => device.seek_max = span()?,
            "turn" => device.turn = span()?,
            "sync" => device.sync = span()?,
            "lookahead" => device.lookahead = size(name, value)?,
            "depth" => device.depth = count(name, value)?,
            "channels" => device.channels = count(name, value)?,
            "crowd_read" => congestion.read = span()?,
            "crowd_write" => congestion.write = span()?,
            "places" => *places = count(name, value)?,
            _ => return Err(unknown(word)),
        }
        Ok(())
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A time; nothing is a time too.
fn span(text: &str) -> Result<Span, String> {
    if text == "0" { Ok(Span::ZERO) } else { quantity::span(text) }
}

fn size(name: &str, text: &str) -> Result<u64, String> {
    if text == "0" {
        return Ok(0);
    }
    quantity::bytes(text).map_err(|what| format!("{name}: {what}"))
}

fn count(name: &str, text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=COUNT_MOST).contains(count));
    count.ok_or_else(|| format!("{name}: '{text}' is no number from 1 to {COUNT_MOST}"))
}

fn unknown(word: &str) -> String {
    format!("'{word}' is none of {}", PARAMETERS.map(|name| format!("{name}=...")).join(", "))
}

const PRESETS: [&str; 3] = ["hdd", "ssd", "null"];
const PARAMETERS: [&str; 14] = [
    "read",
    "write",
    "command",
    "access",
    "seek_min",
    "seek_max",
    "turn",
    "sync",
    "lookahead",
    "depth",
    "channels",
    "crowd_read",
    "crowd_write",
    "places",
];
const COUNT_MOST: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_what_is_different_from_them() {
        let plain: Spec = "hdd".parse().expect("a preset");
        assert_eq!((plain.device, plain.congestion), (Device::HDD, Congestion::NONE));
        let text = "hdd,read=200M,turn=0,seek_max=12ms,depth=4,crowd_read=260us";
        let spec: Spec = text.parse().expect("a device");
        assert_eq!(spec.device.read, Rate::per_second(200 << 20));
        assert_eq!((spec.device.turn, spec.device.seek_max), (Span::ZERO, Span::from_millis(12)));
        assert_eq!((spec.device.depth, spec.device.write), (4, Device::HDD.write));
        assert_eq!(spec.congestion.read, Span::from_micros(260));
        assert_eq!(spec.to_string(), text);
    }

    #[test]
    fn every_parameter_is_known_and_wrong_ones_are_explained() {
        for name in PARAMETERS {
            let value = match name {
                "read" | "write" | "lookahead" => "1M",
                "depth" | "channels" | "places" => "2",
                _ => "1ms",
            };
            let text = format!("ssd,{name}={value}");
            assert_ne!(text.parse::<Spec>().expect(name).device, Device::NULL);
        }
        let wrong = |text: &str| text.parse::<Spec>().expect_err(text);
        assert_eq!(wrong("tape"), "no device 'tape': choose one of hdd, ssd, null");
        assert!(wrong("hdd,speed=1").starts_with("'speed=1' is none of read=..., write=..."));
        assert!(wrong("hdd,fast").starts_with("'fast' is none of"));
        assert!(wrong("hdd,turn=8").starts_with("turn: '8' is no time"));
        assert!(wrong("hdd,read=x").starts_with("read, in a second: 'x' is no size"));
        assert_eq!(wrong("hdd,depth=0"), "depth: '0' is no number from 1 to 1024");
    }
}
