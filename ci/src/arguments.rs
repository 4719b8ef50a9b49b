//! What can be typed after `cargo ci`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::crowd::pound::Pound;
use crate::program::{Through, Transport};
use crate::speed::load::Load;

/// What is to be done.
pub(crate) enum Task {
    List,
    Run(Arguments),
    /// The other half of [`crate::guardian`], started by ourselves.
    Guard(PathBuf),
    /// The load of [`crate::speed`], started by ourselves.
    Load(Load),
    /// A process of [`crate::crowd`], started by ourselves.
    Pound(Pound),
}

/// How the stages are to be run.
#[derive(Debug, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) stages: Vec<String>,
    pub(crate) program: Choice,
    /// How requests reach the agent, if not as they do by default.
    pub(crate) through: Option<Through>,
    /// How often `speed` measures each cell.
    pub(crate) rounds: usize,
    /// The most memory a mount with 64 writers may take.
    pub(crate) memory_mib: u64,
    /// For how long `faults` or `overload` goes on, if not for as long as usual.
    pub(crate) minutes: Option<u64>,
}

/// What the mounted judges judge.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Choice {
    /// The release build of this workspace, made when first needed.
    Built,
    /// Another build of the program.
    Other(PathBuf),
    /// The plain pass-through, to see what the judges find in it.
    Yardstick,
    /// No mount: the directory itself, which every judge must pass.
    Bare,
}

pub(crate) fn parse(words: &[OsString]) -> Result<Task, String> {
    match words.first().and_then(|word| word.to_str()) {
        Some("list") => Ok(Task::List),
        Some("guard") if words.len() == 2 => Ok(Task::Guard(PathBuf::from(&words[1]))),
        Some("load") => Load::parse(&words[1..]).map(Task::Load),
        Some("pound") => Pound::parse(&words[1..]).map(Task::Pound),
        _ => options(words).map(Task::Run),
    }
}

fn options(words: &[OsString]) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        stages: Vec::new(),
        program: Choice::Built,
        through: None,
        rounds: DEFAULT_ROUNDS,
        memory_mib: DEFAULT_MEMORY_MIB,
        minutes: None,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--program") => arguments.program = program(value(word, words.next())?),
            Some("--through") => arguments.through = through(value(word, words.next())?)?,
            Some("--rounds") => arguments.rounds = number(word, words.next())?,
            Some("--minutes") => arguments.minutes = Some(number(word, words.next())?),
            Some("--memory-mib") => arguments.memory_mib = number(word, words.next())?,
            Some(option) if option.starts_with('-') => return Err(usage(option)),
            Some(stage) => arguments.stages.push(stage.to_owned()),
            None => return Err(usage(&word.to_string_lossy())),
        }
    }
    Ok(arguments)
}

fn usage(word: &str) -> String {
    format!(
        "do not understand '{word}'; usage: cargo ci [list | [--program built|yardstick|bare|PATH] \
         [--through embedded|device|unix|tcp|servers] [--rounds N] [--memory-mib N] [--minutes N] [STAGE...]]"
    )
}

fn program(value: &OsStr) -> Choice {
    match value.to_str() {
        Some("built") => Choice::Built,
        Some("yardstick") => Choice::Yardstick,
        Some("bare") => Choice::Bare,
        _ => Choice::Other(PathBuf::from(value)),
    }
}

fn through(value: &OsStr) -> Result<Option<Through>, String> {
    let transport = match value.to_str() {
        Some("embedded") => return Ok(None),
        Some("device") => return Ok(Some(Through::Device)),
        Some("unix") => Transport::Unix,
        Some("tcp") => Transport::Tcp,
        Some("servers") => Transport::Servers("64K"),
        _ => {
            let value = value.display();
            return Err(format!(
                "--through needs embedded, device, unix, tcp or servers, not {value}"
            ));
        }
    };
    Ok(Some(transport.into()))
}

fn value<'a>(option: &OsStr, value: Option<&'a OsString>) -> Result<&'a OsStr, String> {
    value.map(OsString::as_os_str).ok_or_else(|| format!("{} needs a value", option.display()))
}

fn number<N: std::str::FromStr>(option: &OsStr, word: Option<&OsString>) -> Result<N, String> {
    let word = value(option, word)?;
    let parsed = word.to_str().and_then(|word| word.parse().ok());
    parsed.ok_or_else(|| format!("{} needs a number, not {}", option.display(), word.display()))
}

const DEFAULT_ROUNDS: usize = 5;
const DEFAULT_MEMORY_MIB: u64 = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[&str]) -> Result<Arguments, String> {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        let Task::Run(arguments) = parse(&words)? else { return Err("another task".into()) };
        Ok(arguments)
    }

    #[test]
    fn stages_and_options_may_be_mixed() {
        let arguments = run(&["fsx", "--program", "bare", "--rounds", "3", "fio"]).unwrap();
        assert_eq!(arguments.stages, ["fsx", "fio"]);
        assert_eq!((arguments.program, arguments.rounds), (Choice::Bare, 3));
        assert_eq!(run(&["--through", "tcp", "fsx"]).unwrap().through, Some(Transport::Tcp.into()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(run(&["--rounds"]).unwrap_err().contains("--rounds needs a value"));
        assert!(run(&["--rounds", "x"]).unwrap_err().contains("needs a number, not x"));
        let through = run(&["--through", "udp"]).unwrap_err();
        assert!(through.contains("embedded, device, unix, tcp or servers, not udp"), "{through}");
        assert!(run(&["--fast"]).unwrap_err().contains("'--fast'"));
    }
}
