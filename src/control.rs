//! Talking to what serves a mount through the mount itself: control operations on its root directory
//! and on open files.
//!
//! They need no socket and no file, and reach exactly what is mounted there.

pub(crate) mod pages;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use iofwd_mount::Errno;
use iofwd_mount::store::Controlled;

use crate::layout::Told;
use crate::report::Report;
use crate::telemetry::Snapshot;

use self::pages::{Page, Pages};

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
pub fn status(mountpoint: &Path, patience: Duration) -> io::Result<Report> {
    within(mountpoint, patience, |place| ask(place, STATUS))
}

/// Have the agent behind a mountpoint wait for everything under way and make it durable.
pub fn flush(mountpoint: &Path, patience: Duration) -> io::Result<Report> {
    within(mountpoint, patience, |place| ask(place, FLUSH))
}

/// On a thread of its own: a mount that waits for its agent makes whoever touches it wait.
fn within<T: Send + 'static>(
    mountpoint: &Path,
    patience: Duration,
    ask: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let place = mountpoint.to_owned();
    std::thread::Builder::new().name("iofwd-asking".into()).spawn(move || {
        let _ = sender.send(ask(&place));
    })?;
    let late = || io::Error::new(io::ErrorKind::TimedOut, NO_ANSWER);
    receiver.recv_timeout(patience).unwrap_or_else(|_| Err(late()))
}

/// Ask the agent behind an open file for the file's layout; `None` if there is no agent behind it.
pub fn layout(file: &File) -> io::Result<Option<Told>> {
    let mut text = Vec::new();
    let mut page = vec![0u8; ANSWER];
    loop {
        page[..8].copy_from_slice(&(text.len() as u64).to_le_bytes());
        // SAFETY: the number of the command says how long the buffer is, and it is that long.
        let result = unsafe {
            libc::ioctl(file.as_raw_fd(), libc::c_ulong::from(LAYOUT), page.as_mut_ptr())
        };
        if result < 0 {
            let error = io::Error::last_os_error();
            let nobody = matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL));
            return if nobody && text.is_empty() { Ok(None) } else { Err(error) };
        }
        let end = page.iter().position(|byte| *byte == 0);
        text.extend_from_slice(&page[..end.unwrap_or(ANSWER)]);
        if end.is_some() || text.len() > LAYOUT_MOST {
            break;
        }
    }
    let told = Told::from_text(&String::from_utf8_lossy(&text));
    told.map(Some).ok_or_else(|| io::Error::other("the agent's answer is no layout"))
}

/// Ask the agent behind a mountpoint for everything there is to tell.
pub fn snapshot(mountpoint: &Path, patience: Duration) -> io::Result<Snapshot> {
    within(mountpoint, patience, ask_for_snapshot)
}

fn ask_for_snapshot(mountpoint: &Path) -> io::Result<Snapshot> {
    let root = File::open(mountpoint)?;
    let text = pages::gather(|offset, token| {
        let mut page = vec![0u8; ANSWER];
        page[..8].copy_from_slice(&offset.to_le_bytes());
        page[8..16].copy_from_slice(&token.to_le_bytes());
        // SAFETY: the number of the command says how long the buffer is, and it is that long.
        let result = unsafe {
            libc::ioctl(root.as_raw_fd(), libc::c_ulong::from(SNAPSHOT), page.as_mut_ptr())
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let [token, total] = [0, 8].map(|at| number(&page, at).unwrap_or(0));
        let length = total.saturating_sub(offset).min((ANSWER - PAGE_HEAD) as u64) as usize;
        Ok(Page { token, total, bytes: page[PAGE_HEAD..PAGE_HEAD + length].to_vec() })
    })?;
    serde_json::from_slice(&text).map_err(|error| {
        io::Error::other(format!("the agent's answer cannot be understood: {error}"))
    })
}

/// A page of what there is to tell, for a question that begins with an offset and a token.
pub(crate) fn snapshot_page(
    pages: &Pages,
    argument: &[u8],
    room: usize,
    make: impl FnOnce() -> Snapshot,
) -> Result<Controlled, Errno> {
    let [offset, token] = [0, 8].map(|at| number(argument, at));
    let space = room.checked_sub(PAGE_HEAD).ok_or(Errno::EINVAL)?;
    let text = || serde_json::to_string(&make()).unwrap_or_default();
    let page = pages.page(offset.ok_or(Errno::EINVAL)?, token.ok_or(Errno::EINVAL)?, space, text);
    let page = page.ok_or(Errno::ESTALE)?;
    let mut data = page.token.to_le_bytes().to_vec();
    data.extend_from_slice(&page.total.to_le_bytes());
    data.extend_from_slice(&page.bytes);
    data.resize(room, 0);
    Ok(Controlled { result: 0, data })
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes))
}

/// A page of a layout, from the offset on that the question begins with.
pub(crate) fn layout_page(told: &Told, argument: &[u8], room: usize) -> Result<Controlled, Errno> {
    let offset = argument.first_chunk::<8>().ok_or(Errno::EINVAL)?;
    let offset = usize::try_from(u64::from_le_bytes(*offset)).map_err(|_| Errno::EINVAL)?;
    let text = told.to_text();
    let rest = text.as_bytes().get(offset..).unwrap_or_default();
    let mut data = rest[..rest.len().min(room)].to_vec();
    data.resize(room, 0);
    Ok(Controlled { result: 0, data })
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

/// Why a mount does not answer that is not dead.
const NO_ANSWER: &str = "no answer; it probably waits for its agent (its log says since when, and \
                         for which files)";
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
/// Tell the layout of an open file, page by page: a question as long as the answer.
pub(crate) const LAYOUT: u32 = (1 << 30) | command(3);
/// Tell everything, page by page: an offset and a token; a token, the length of all, and bytes.
pub(crate) const SNAPSHOT: u32 = (1 << 30) | command(4);
/// Whether a control operation of ours changes nothing, though it takes a question.
pub(crate) fn only_asks(command: u32) -> bool {
    matches!(command, LAYOUT | SNAPSHOT)
}

/// What stands before the bytes of a page.
const PAGE_HEAD: usize = 16;
/// No layout is longer than this.
pub(crate) const LAYOUT_MOST: usize = 16 << 20;

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
