//! Recordings of a scheduler as files: one line an event, readable by people and by `iofwd replay`.
//!
//! The first line says how the scheduler was set up. Then `S` submits, `I` issues, `W` waits, `C`
//! completes, `X` cancels, `D` directs; each with the time in nanoseconds and its numbers in decimal.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::str::FromStr;

use iofwd_scheduler::policy::{Directive, Setup};
use iofwd_scheduler::record::Event;
use iofwd_scheduler::request::{Extent, FileId, JobId, Operation, Request, RequestId, ServerId};
use iofwd_scheduler::room::Limit;
use iofwd_scheduler::scheduler::{Config, Outcome};
use iofwd_scheduler::time::{Span, Time};

/// How the recorded scheduler was set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The policy, by name.
    pub policy: String,
    /// The bounds.
    pub config: Config,
}

/// A recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// How the scheduler was set up.
    pub header: Header,
    /// What happened.
    pub events: Vec<Event>,
}

/// A line that cannot be understood.
#[derive(Debug)]
pub struct TraceError {
    line: usize,
    reason: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for TraceError {}

/// Writes events as they happen.
pub struct Recorder {
    file: Box<dyn Write + Send>,
    failed: bool,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Begin a recording.
    pub fn new(mut file: Box<dyn Write + Send>, header: &Header) -> io::Result<Recorder> {
        writeln!(file, "{}", header_line(header))?;
        Ok(Recorder { file, failed: false })
    }

    /// Write an event. A recording that cannot be written is given up, once and aloud; the I/O it
    /// records goes on.
    pub fn write(&mut self, event: &Event) {
        if !self.failed
            && let Err(error) = writeln!(self.file, "{}", event_line(event))
        {
            tracing::error!(%error, "the recording ends here");
            self.failed = true;
        }
    }

    /// Everything recorded so far is in the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Trace {
    /// Read a recording.
    pub fn read(file: impl BufRead) -> Result<Trace, TraceError> {
        let mut header = None;
        let mut events = Vec::new();
        for (at, line) in file.lines().enumerate() {
            let wrong = |reason: String| TraceError { line: at + 1, reason };
            let line = line.map_err(|error| wrong(error.to_string()))?;
            if header.is_none() {
                header = Some(parse_header(&line).map_err(wrong)?);
            } else {
                events.push(parse_event(&line).map_err(wrong)?);
            }
        }
        let header = header
            .ok_or_else(|| TraceError { line: 1, reason: "the recording is empty".into() })?;
        Ok(Trace { header, events })
    }
}

fn header_line(header: &Header) -> String {
    let Header { policy, config } = header;
    let Config { setup, each, total } = config;
    format!(
        "{MAGIC} {policy} {} {} {} {} {} {} {} {} {}",
        setup.servers,
        setup.agent,
        setup.agents,
        setup.batch.requests,
        setup.batch.bytes,
        each.requests,
        each.bytes,
        total.requests,
        total.bytes
    )
}

fn parse_header(line: &str) -> Result<Header, String> {
    let rest = line
        .strip_prefix(MAGIC)
        .ok_or_else(|| format!("not a recording: it does not begin with '{MAGIC}'"))?;
    let mut words = Words(rest.split_whitespace());
    let policy = words.text("policy")?.to_string();
    let mut setup = Setup::new(words.number("servers")?);
    setup.agent = words.number("agent")?;
    setup.agents = words.number("agents")?;
    setup.batch = words.limit("batch")?;
    let mut config = Config::new(setup);
    config.each = words.limit("each")?;
    config.total = words.limit("total")?;
    config.check().map_err(|error| error.to_string())?;
    Ok(Header { policy, config })
}

fn event_line(event: &Event) -> String {
    match event {
        Event::Submit(now, request) => {
            let Request { id, file, job, server, operation, extent, local, arrived } = request;
            let letter = match operation {
                Operation::Read => 'R',
                Operation::Write => 'W',
            };
            format!(
                "S {} {} {} {} {} {letter} {} {} {local} {}",
                now.as_nanos(),
                id.0,
                file.0,
                job.0,
                server.0,
                extent.offset,
                extent.length,
                arrived.as_nanos()
            )
        }
        Event::Issue(now, ids) => {
            let ids: Vec<String> = ids.iter().map(|id| id.0.to_string()).collect();
            format!("I {} {}", now.as_nanos(), ids.join(" "))
        }
        Event::Wait(now, until) => format!("W {} {}", now.as_nanos(), until.as_nanos()),
        Event::Complete(now, id, Outcome { bytes, failed }) => {
            format!("C {} {} {bytes} {}", now.as_nanos(), id.0, u8::from(*failed))
        }
        Event::Cancel(now, id) => format!("X {} {}", now.as_nanos(), id.0),
        Event::Direct(now, directive) => {
            let order = match directive {
                Directive::ClockOffset(offset) => format!("offset {offset}"),
                Directive::Window(window) => format!("window {}", window.as_nanos()),
                Directive::Gather(gather) => format!("gather {}", u8::from(*gather)),
                Directive::Weight(job, weight) => format!("weight {} {weight}", job.0),
            };
            format!("D {} {order}", now.as_nanos())
        }
        Event::Grow(now, servers) => format!("G {} {servers}", now.as_nanos()),
    }
}

fn parse_event(line: &str) -> Result<Event, String> {
    let mut words = Words(line.split_whitespace());
    let kind = words.text("kind of event")?;
    let now = Time::from_nanos(words.number("time")?);
    Ok(match kind {
        "S" => Event::Submit(now, parse_request(&mut words)?),
        "I" => {
            let ids: Result<Vec<u64>, _> = words.0.map(str::parse).collect();
            let ids = ids.map_err(|_| "an id is no number".to_string())?;
            Event::Issue(now, ids.into_iter().map(RequestId).collect())
        }
        "W" => Event::Wait(now, Time::from_nanos(words.number("time to wait for")?)),
        "C" => {
            let id = RequestId(words.number("id")?);
            let bytes = words.number("bytes")?;
            Event::Complete(now, id, Outcome { bytes, failed: words.number::<u8>("failed")? != 0 })
        }
        "X" => Event::Cancel(now, RequestId(words.number("id")?)),
        "D" => Event::Direct(now, parse_directive(&mut words)?),
        "G" => Event::Grow(now, words.number("servers")?),
        other => return Err(format!("no event '{other}': S, I, W, C, X, D and G are known")),
    })
}

fn parse_request(words: &mut Words<'_>) -> Result<Request, String> {
    Ok(Request {
        id: RequestId(words.number("id")?),
        file: FileId(words.number("file")?),
        job: JobId(words.number("job")?),
        server: ServerId(words.number("server")?),
        operation: match words.text("operation")? {
            "R" => Operation::Read,
            "W" => Operation::Write,
            other => return Err(format!("no operation '{other}': R and W are known")),
        },
        extent: Extent::new(words.number("offset")?, words.number("length")?),
        local: words.number("local offset")?,
        arrived: Time::from_nanos(words.number("arrival")?),
    })
}

fn parse_directive(words: &mut Words<'_>) -> Result<Directive, String> {
    Ok(match words.text("directive")? {
        "offset" => Directive::ClockOffset(words.number("offset")?),
        "window" => Directive::Window(Span::from_nanos(words.number("window")?)),
        "gather" => Directive::Gather(words.number::<u8>("gather")? != 0),
        "weight" => Directive::Weight(JobId(words.number("job")?), words.number("weight")?),
        other => {
            return Err(format!(
                "no directive '{other}': offset, window, gather, weight are known"
            ));
        }
    })
}

/// The words of a line, taken one after the other.
struct Words<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    fn text(&mut self, what: &str) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| format!("the {what} is missing"))
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.text(what)?;
        word.parse().map_err(|_| format!("the {what} '{word}' is no number that can be"))
    }

    fn limit(&mut self, what: &str) -> Result<Limit, String> {
        Ok(Limit::new(self.number(what)?, self.number(what)?))
    }
}

const MAGIC: &str = "iofwd-trace 1";

#[cfg(test)]
mod tests {
    use super::*;

    fn events() -> Vec<Event> {
        let now = Time::from_nanos(17);
        let request = Request {
            id: RequestId(1),
            file: FileId(2),
            job: JobId(3),
            server: ServerId(0),
            operation: Operation::Write,
            extent: Extent::new(4096, 100),
            local: 96,
            arrived: Time::from_nanos(16),
        };
        vec![
            Event::Direct(Time::ZERO, Directive::ClockOffset(-5)),
            Event::Direct(Time::ZERO, Directive::Window(Span::from_millis(2))),
            Event::Direct(Time::ZERO, Directive::Gather(true)),
            Event::Direct(Time::ZERO, Directive::Weight(JobId(3), 7)),
            Event::Grow(Time::ZERO, 5),
            Event::Submit(now, request),
            Event::Issue(now, vec![RequestId(1), RequestId(2)]),
            Event::Wait(now, Time::NEVER),
            Event::Complete(now, RequestId(1), Outcome { bytes: 100, failed: true }),
            Event::Cancel(now, RequestId(9)),
        ]
    }

    #[test]
    fn a_recording_reads_as_it_was_written() {
        let header = Header { policy: "twins".into(), config: Config::new(Setup::new(4)) };
        let mut text = vec![header_line(&header)];
        text.extend(events().iter().map(event_line));
        let trace = Trace::read(text.join("\n").as_bytes()).expect("what was written can be read");
        assert_eq!(trace, Trace { header, events: events() });
    }

    #[test]
    fn a_wrong_line_is_named() {
        let header =
            header_line(&Header { policy: "fifo".into(), config: Config::new(Setup::new(1)) });
        for (line, reason) in [
            ("Q 1", "no event 'Q'"),
            ("S 1 2", "the file is missing"),
            ("C 1 x 3 0", "the id 'x'"),
            ("I 5 a", "an id is no number"),
            ("", "kind of event is missing"),
        ] {
            let error = Trace::read(format!("{header}\n{line}\n").as_bytes()).unwrap_err();
            let message = error.to_string();
            assert!(message.starts_with("line 2") && message.contains(reason), "{message}");
        }
        assert!(Trace::read(&b"hello"[..]).unwrap_err().to_string().contains("not a recording"));
        assert!(Trace::read(&b""[..]).is_err());
    }
}
