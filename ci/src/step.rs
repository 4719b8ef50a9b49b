//! One command that a stage runs: shown, bounded in time, its output kept in a file and its last
//! lines shown when it fails.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::guardian;
use crate::site::Site;

/// A command about to be run.
pub(crate) struct Step {
    command: Command,
    limit: Duration,
    shown: bool,
}

/// What became of a command.
pub(crate) struct Finished {
    pub(crate) success: bool,
    /// Its exit code, if it was not killed.
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    /// The command and how it ended, for a message.
    pub(crate) summary: String,
}

impl Finished {
    /// The summary with the last lines of output below.
    pub(crate) fn explain(&self) -> String {
        format!("{}\n{}", self.summary, last_lines(&self.output))
    }
}

impl Step {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self { command: Command::new(program), limit: DEFAULT_LIMIT, shown: true }
    }

    /// A script for the shell.
    pub(crate) fn shell(script: &str) -> Self {
        Self::new("sh").args(["-ec", script])
    }

    pub(crate) fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.command.arg(word);
        self
    }

    pub(crate) fn args<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.command.args(words);
        self
    }

    /// Makes this the command that runs another one.
    pub(crate) fn around(self, other: Step) -> Self {
        let limit = other.limit;
        let step = self.arg(other.command.get_program()).args(other.command.get_args());
        Self { limit, ..step }
    }

    pub(crate) fn dir(mut self, path: &Path) -> Self {
        self.command.current_dir(path);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// When it is taken for hung, and killed.
    pub(crate) fn limit(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Does not show the command, for one that would only repeat another.
    pub(crate) fn quiet(mut self) -> Self {
        self.shown = false;
        self
    }

    /// Runs it, and fails if it does.
    pub(crate) fn run(self, site: &Site) -> Result<String, String> {
        let finished = self.outcome(site)?;
        if finished.success { Ok(finished.output) } else { Err(finished.explain()) }
    }

    /// Runs it; failing is an answer too. Only one that hangs or cannot start is an error.
    pub(crate) fn outcome(self, site: &Site) -> Result<Finished, String> {
        let (text, limit) = (self.text(), self.limit);
        let (mut child, log) = self.spawn(site)?;
        let status = wait(&mut child, limit);
        if status.is_none() {
            guardian::kill(child.id());
        }
        // Who waits for a mount that does not answer dies only with its server, later.
        if status.is_some() || wait(&mut child, DYING).is_some() {
            site.guardian.release(child.id());
        }
        let output = read_lossily(&log);
        match status {
            Some(status) => {
                let summary = format!("`{text}` ended with {status}, log {}", log.display());
                Ok(Finished { success: status.success(), code: status.code(), output, summary })
            }
            None => Err(format!("`{text}` hung for {limit:?}\n{}", last_lines(&output))),
        }
    }

    /// Starts it in a process group of its own, and leaves it running.
    pub(crate) fn spawn(mut self, site: &Site) -> Result<(Child, PathBuf), String> {
        let text = self.text();
        if self.shown {
            println!("   $ {text}");
        }
        let log = site.new_log();
        let file = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let copy = file.try_clone().map_err(|e| format!("{}: {e}", log.display()))?;
        self.command.stdin(Stdio::null()).stdout(file).stderr(copy).process_group(0);
        let child = self.command.spawn().map_err(|e| format!("cannot run `{text}`: {e}"))?;
        site.guardian.watch(child.id());
        Ok((child, log))
    }

    fn text(&self) -> String {
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        words.map(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// How a child ended, or none if it has not within the limit.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < end => std::thread::sleep(POLL),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// The end of a log, indented to stand out.
pub(crate) fn last_lines(output: &str) -> String {
    let lines: Vec<_> = output.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES_KEPT)..];
    last.iter().map(|line| format!("   | {line}\n")).collect()
}

pub(crate) fn read_lossily(log: &Path) -> String {
    String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned()
}

/// As one would type it.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

const DEFAULT_LIMIT: Duration = Duration::from_secs(300);
const DYING: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);
const LINES_KEPT: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let step = Step::new("fio").args(["--bs=4k", "a b", "it's", ""]);
        assert_eq!(step.text(), r"fio --bs=4k 'a b' 'it'\''s' ''");
        let around = Step::new("strace").arg("-f").around(Step::new("fio").arg("--bs=4k"));
        assert_eq!(around.text(), "strace -f fio --bs=4k");
    }

    #[test]
    fn only_the_end_of_a_long_log_is_shown() {
        let log: String = (0..100).map(|n| format!("{n}\n")).collect();
        let shown = last_lines(&log);
        assert!(shown.starts_with("   | 60\n") && shown.ends_with("   | 99\n"));
    }
}
