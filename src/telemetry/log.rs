//! Lines of the log, as text or JSON, and few of them when the same thing happens again and again.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// An object a line, for programs.
    Json,
}

/// Writes lines as `format` does, but only some of those that come from the same place of the program
/// in a short time. How many were left out is told afterwards.
#[derive(Debug)]
pub struct Sparing<F> {
    format: F,
    form: Form,
    tallies: Mutex<Tallies>,
}

impl<F> Sparing<F> {
    /// Spare lines of this format.
    pub fn new(format: F, form: Form) -> Sparing<F> {
        Sparing { format, form, tallies: Mutex::default() }
    }
}

impl<S, N, F> FormatEvent<S, N> for Sparing<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let now = Instant::now();
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let over = tallies.over(now);
        let level = *metadata.level();
        // Who asks for details gets all of them.
        let is_written = level > Level::INFO
            || tallies.admit(metadata.callsite(), level, now, || message(event));
        drop(tallies);
        for left_out in over {
            self.summarise(writer.by_ref(), &left_out)?;
        }
        if is_written { self.format.format_event(context, writer, event) } else { Ok(()) }
    }
}

impl<F> Sparing<F> {
    fn summarise(
        &self,
        mut writer: Writer<'_>,
        LeftOut { level, count, like }: &LeftOut,
    ) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        match self.form {
            Form::Text => {
                writeln!(writer, "{time} {level:>5} left out {count} more lines like: {like}")
            }
            Form::Json => {
                let fields =
                    serde_json::json!({ "message": "left out", "lines": count, "like": like });
                let level = level.as_str();
                let line =
                    serde_json::json!({ "timestamp": time, "level": level, "fields": fields });
                writeln!(writer, "{line}")
            }
        }
    }
}

/// What a place of the program has written lately.
#[derive(Debug)]
struct Tally {
    begun: Instant,
    written: u32,
    left_out: u64,
    level: Level,
    like: String,
}

/// Lines that were not written.
#[derive(Debug, PartialEq, Eq)]
struct LeftOut {
    level: Level,
    count: u64,
    like: String,
}

#[derive(Debug, Default)]
struct Tallies(HashMap<Identifier, Tally>);

impl Tallies {
    /// Whether a line from this place is to be written now.
    fn admit(
        &mut self,
        place: Identifier,
        level: Level,
        now: Instant,
        like: impl FnOnce() -> String,
    ) -> bool {
        let tally = self.0.entry(place).or_insert_with(|| Tally {
            begun: now,
            written: 0,
            left_out: 0,
            level,
            like: like(),
        });
        if now.duration_since(tally.begun) >= PERIOD {
            (tally.begun, tally.written) = (now, 0);
        }
        let admitted = tally.written < LINES;
        if admitted {
            tally.written += 1;
        } else {
            tally.left_out += 1;
        }
        admitted
    }

    /// Places whose time is over and that left something out.
    fn over(&mut self, now: Instant) -> Vec<LeftOut> {
        let is_over =
            |tally: &&mut Tally| tally.left_out > 0 && now.duration_since(tally.begun) >= PERIOD;
        let over = self.0.values_mut().filter(is_over);
        over.map(|tally| LeftOut {
            level: tally.level,
            count: std::mem::take(&mut tally.left_out),
            like: tally.like.clone(),
        })
        .collect()
    }
}

/// The message of an event, without its other fields.
fn message(event: &Event<'_>) -> String {
    struct Message(String);
    impl Visit for Message {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            if field.name() == "message" {
                self.0 = format!("{value:?}");
            }
        }
    }
    let mut message = Message(String::new());
    event.record(&mut message);
    message.0
}

/// Lines of one place in one period.
const LINES: u32 = 20;
const PERIOD: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Sink {
        type Writer = Sink;

        fn make_writer(&'a self) -> Sink {
            self.clone()
        }
    }

    #[test]
    fn the_same_thing_is_written_some_times_and_others_always() {
        let sink = Sink::default();
        let format = Sparing::new(tracing_subscriber::fmt::format().with_ansi(false), Form::Text);
        let log = tracing_subscriber::fmt().event_format(format).with_writer(sink.clone()).finish();
        tracing::subscriber::with_default(log, || {
            for number in 0..1_000 {
                tracing::warn!(number, "it hurts");
            }
            tracing::warn!("something else");
        });
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len() as u32, LINES + 1, "{text}");
        assert!(lines[0].contains("it hurts number=0") && lines[20].contains("something else"));
    }

    #[test]
    fn what_was_left_out_is_told_when_its_time_is_over() {
        let begun = Instant::now();
        let mut tallies = Tallies::default();
        let place = tracing::callsite::Identifier(&PLACE);
        let admit = |tallies: &mut Tallies, now| {
            tallies.admit(place.clone(), Level::WARN, now, || "it hurts".into())
        };
        let written = (0..100).filter(|_| admit(&mut tallies, begun)).count() as u32;
        assert_eq!(written, LINES);
        assert_eq!(tallies.over(begun + PERIOD / 2), []);
        let left_out = LeftOut { level: Level::WARN, count: 80, like: "it hurts".into() };
        assert_eq!(tallies.over(begun + PERIOD), [left_out]);
        assert_eq!(tallies.over(begun + PERIOD), [], "told once");
        assert!(admit(&mut tallies, begun + PERIOD), "a new period");
    }

    static PLACE: Place = Place;

    struct Place;

    impl tracing::Callsite for Place {
        fn set_interest(&self, _: tracing::subscriber::Interest) {}

        fn metadata(&self) -> &tracing::Metadata<'_> {
            unreachable!("nobody asks")
        }
    }
}
