//! Talking to what serves a mount through the mount itself: control operations on its root directory.
//!
//! They need no socket and no file, and reach exactly what is mounted there.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use iofwd_mount::Errno;
use iofwd_mount::store::Controlled;

use crate::report::Report;

/// The answer to a control operation: a text, and zeros behind it.
pub(crate) fn text(text: &str, room: usize) -> Result<Controlled, Errno> {
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
pub(crate) const ANSWER: usize = 8192;
/// Reads `ANSWER` bytes; a letter of our own, and a number.
const fn command(number: u32) -> u32 {
    (2 << 30) | ((ANSWER as u32) << 16) | (0xf7 << 8) | number
}
/// Tell what was done so far.
pub(crate) const STATUS: u32 = command(1);
/// Wait for everything under way, and make it durable.
pub(crate) const FLUSH: u32 = command(2);

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
