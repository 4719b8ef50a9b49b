//! `--app name=B,processes=8,start=2s`: one of several applications.

use std::time::Duration;

use clap::ValueEnum;

use iofwd_scheduler::time::Span;

use crate::bench::plan::{Application, Work};
use crate::bench::{Pattern, Shape};

use super::{Load, Operation};
use crate::cli::{Failure, quantity};

/// The applications: those that were typed, or a single one.
pub(super) fn all(load: &Load, typed: &[String], seed: u64) -> Result<Vec<Application>, Failure> {
    if typed.is_empty() {
        return Ok(vec![application("A".into(), load, Duration::ZERO, seed)?]);
    }
    (0_u64..).zip(typed).map(|(number, text)| one(load, number, text, seed)).collect()
}

fn one(load: &Load, number: u64, text: &str, seed: u64) -> Result<Application, Failure> {
    let (mut load, mut name, mut start) = (load.clone(), letter(number), Duration::ZERO);
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let explain = |why: String| format!("--app {text}: {why}");
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| explain(format!("'{word}' is no KEY=VALUE, like processes=8")))?;
        match key {
            "name" => name = checked_name(value).map_err(explain)?,
            "start" => start = offset(value).map_err(explain)?,
            _ => set(&mut load, key, value).map_err(explain)?,
        }
    }
    // Applications that strew must not strew alike.
    application(name, &load, start, seed.wrapping_add(number))
}

fn set(load: &mut Load, key: &str, value: &str) -> Result<(), Failure> {
    match key {
        "processes" => load.processes = count(key, value, 4096)?,
        "pattern" => load.pattern = value.parse::<Pattern>()?,
        "operation" => {
            load.operation = Operation::from_str(value, false)
                .map_err(|_| format!("no operation '{value}': one of read, write, both"))?
        }
        "request" => load.request = quantity::bytes(value)?,
        "size" => load.size = quantity::bytes(value)?,
        "think" => load.think = Some(quantity::span(value)?),
        "periods" => load.periods = count(key, value, 1_000_000)?,
        "compute" => load.compute = Some(quantity::span(value)?),
        _ => {
            return Err(format!(
                "no key '{key}': one of name, start, processes, pattern, operation, request, \
                 size, think, periods, compute"
            ));
        }
    }
    Ok(())
}

fn application(
    name: String,
    load: &Load,
    start: Duration,
    seed: u64,
) -> Result<Application, Failure> {
    let shape = shape(&name, load, seed)?;
    Ok(Application {
        name,
        shape,
        work: match load.operation {
            Operation::Read => Work::Read,
            Operation::Write => Work::Write,
            Operation::Both => Work::Both,
        },
        start,
        think: load.think.map(duration).unwrap_or_default(),
        periods: load.periods,
        compute: load.compute.map(duration).unwrap_or_default(),
    })
}

/// Every process does the same number of whole requests; another size is refused, not rounded.
fn shape(name: &str, load: &Load, seed: u64) -> Result<Shape, Failure> {
    let (request, processes) = (load.request, u64::from(load.processes));
    if request > LARGEST_REQUEST {
        return Err(format!(
            "application {name}: a request of {request} bytes is too large: at most \
             {LARGEST_REQUEST}"
        ));
    }
    let row = request * processes;
    if !load.size.is_multiple_of(row) {
        let better = load.size.div_ceil(row).saturating_mul(row);
        return Err(format!(
            "application {name}: {} bytes are no whole number of requests of {request} bytes for \
             each of {processes} processes: use for example --size {better}",
            load.size
        ));
    }
    Ok(Shape::new(load.pattern, processes, load.size / row, request, seed))
}

/// A name is also the beginning of file names, and stands in a line of comma-separated values.
fn checked_name(text: &str) -> Result<String, Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || text.len() > 64 || !text.chars().all(fits) {
        return Err(format!("'{text}' is no name: up to 64 letters, digits, - and _"));
    }
    Ok(text.into())
}

/// A start may be zero, which other times may not.
fn offset(text: &str) -> Result<Duration, Failure> {
    if text.trim_matches('0').is_empty() || matches!(text, "0s" | "0ms" | "0us") {
        return Ok(Duration::ZERO);
    }
    quantity::span(text).map(duration)
}

fn count(key: &str, text: &str, most: u32) -> Result<u32, Failure> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("{key}={text}: a whole number from 1 to {most} is wanted"))
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}

/// A, B, C …
fn letter(number: u64) -> String {
    match u8::try_from(number) {
        Ok(number @ 0..26) => char::from(b'A' + number).to_string(),
        _ => format!("A{number}"),
    }
}

/// Linux moves at most two gigabytes in a call.
const LARGEST_REQUEST: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Load {
        Load {
            processes: 4,
            pattern: Pattern::Strided,
            operation: Operation::Both,
            request: 1024,
            size: 8192,
            think: None,
            periods: 1,
            compute: None,
        }
    }

    fn typed(texts: &[&str]) -> Result<Vec<Application>, Failure> {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        all(&load(), &texts, 1)
    }

    #[test]
    fn each_application_differs_in_what_is_typed() {
        let all = typed(&["", "name=late,processes=2,pattern=random,start=2s,think=1ms"]).unwrap();
        assert_eq!([&all[0].name, &all[1].name], ["A", "late"]);
        assert_eq!([&all[0], &all[1]].map(|one| one.shape.processes()), [4, 2]);
        assert_eq!(all[1].shape.pattern(), Pattern::Random);
        assert_eq!([&all[0], &all[1]].map(|one| one.start.as_secs()), [0, 2]);
        assert_eq!(all[1].think, Duration::from_millis(1));
        assert_eq!(typed(&[]).unwrap().len(), 1);
        assert_eq!(typed(&["start=0"]).unwrap()[0].start, Duration::ZERO);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_do() {
        for (text, told) in [
            ("processes", "KEY=VALUE"),
            ("processes=0", "1 to 4096"),
            ("color=red", "no key 'color'"),
            ("pattern=zigzag", "file-per-process"),
            ("operation=append", "read, write, both"),
            ("name=a/b", "no name"),
            ("start=soon", "1ms"),
            ("size=9000", "--size 12288"),
            ("request=2G", "too large"),
        ] {
            let failure = typed(&[text]).unwrap_err();
            assert!(failure.contains(told), "{text}: {failure}");
        }
    }
}
