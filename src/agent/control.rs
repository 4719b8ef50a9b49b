//! Talking to a running agent through its own mount: control operations on the root directory.
//!
//! They need no socket and no file, and reach exactly the agent behind the mountpoint.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use iofwd_mount::Errno;
use iofwd_mount::store::Controlled;

use super::Agent;
use super::engine::Report;

impl Agent {
    /// Answer a control operation of ours; `None` if it is none.
    pub(super) fn control(
        &self,
        command: u32,
        _argument: &[u8],
        room: usize,
    ) -> Option<Result<Controlled, Errno>> {
        match command {
            STATUS => Some(text(&self.report().to_text(), room)),
            FLUSH => Some(self.flush().and_then(|()| text(&self.report().to_text(), room))),
            _ => None,
        }
    }

    /// What the agent has done so far.
    pub fn report(&self) -> Report {
        let mut report = Report::default();
        report.add("version", env!("CARGO_PKG_VERSION"));
        report.add("pid", std::process::id());
        report.add("nodes", self.nodes.len());
        report.add("open_files", self.files.len());
        let (open, limit) = self.tree.descriptors();
        report.add("node_descriptors", open);
        report.add("node_descriptors_limit", limit);
        for (name, value) in self.engine.report().iter() {
            report.add(name, value);
        }
        report
    }
}

fn text(text: &str, room: usize) -> Result<Controlled, Errno> {
    let mut data = text.as_bytes().to_vec();
    // What does not fit is cut at a line, so that no number is cut short.
    if data.len() > room {
        data.truncate(room);
        let end = data.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        data.truncate(end);
    }
    data.resize(room, 0);
    Ok(Controlled { result: 0, data })
}

/// Ask the agent behind a mountpoint what it has done so far.
pub fn status(mountpoint: &Path) -> io::Result<Report> {
    ask(mountpoint, STATUS)
}

/// Have the agent behind a mountpoint wait for everything under way and make it durable.
pub fn flush(mountpoint: &Path) -> io::Result<Report> {
    ask(mountpoint, FLUSH)
}

fn ask(mountpoint: &Path, command: u32) -> io::Result<Report> {
    let root = File::open(mountpoint)?;
    let mut answer = vec![0u8; ANSWER];
    // SAFETY: the number of the command says how long the buffer is, and it is that long.
    let result =
        unsafe { libc::ioctl(root.as_raw_fd(), libc::c_ulong::from(command), answer.as_mut_ptr()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let end = answer.iter().position(|byte| *byte == 0).unwrap_or(ANSWER);
    Ok(Report::from_text(&String::from_utf8_lossy(&answer[..end])))
}

/// Bytes of an answer: the most that the number of a command can say is 16,383.
const ANSWER: usize = 8192;
/// Reads `ANSWER` bytes; a letter of our own, and a number.
const fn command(number: u32) -> u32 {
    (2 << 30) | ((ANSWER as u32) << 16) | (0xf7 << 8) | number
}
const STATUS: u32 = command(1);
const FLUSH: u32 = command(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_does_not_fit_is_cut_at_a_line() {
        let answer = text("reads 12345\nwrites 67890\n", 16).unwrap();
        assert_eq!(answer.data, b"reads 12345\n\0\0\0\0");
        assert_eq!(text("a 1\n", 4).unwrap().data, b"a 1\n");
    }
}
