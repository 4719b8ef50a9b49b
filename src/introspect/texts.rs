//! Texts that are read as files: made when a file is opened, the same until it is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iofwd_mount::store::{Controlled, HandleId, NodeId, OpenHow, Opened};
use iofwd_mount::{Caller, Errno, Store};

use crate::control;
use crate::layout::Told;

use super::{MARK, wait};

/// The text of an open file.
#[derive(Clone, Debug)]
pub(super) struct Text(Arc<str>);

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(text.into())
    }
}

impl Text {
    /// A part of it, as much as there is.
    pub(super) fn part(&self, offset: u64, size: u32) -> &[u8] {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.0.as_bytes().get(offset..).unwrap_or_default();
        &rest[..rest.len().min(size as usize)]
    }
}

/// Numbers for handles that no other store has.
#[derive(Debug, Default)]
pub(super) struct Numbers(AtomicU64);

impl Numbers {
    pub(super) fn next(&self) -> HandleId {
        HandleId(MARK | self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Whether a handle is one of ours.
pub(super) fn is_own(handle: HandleId) -> bool {
    handle.0 & MARK != 0
}

/// Where the bytes of a file are, as the store tells it through an open handle.
pub(super) fn layout(inner: &dyn Store, caller: &Caller, node: NodeId) -> Result<String, Errno> {
    let how = OpenHow { flags: libc::O_RDONLY, readable: false };
    let opened: Opened = wait(|reply| inner.open(caller, node, how, reply))?;
    let text = pages(inner, caller, opened.handle);
    let _ = wait(|reply| inner.release(node, opened.handle, reply));
    let told = Told::from_text(&String::from_utf8_lossy(&text?)).ok_or(Errno::EIO)?;
    let pretty = serde_json::to_string_pretty(&told).map_err(|_| Errno::EIO)?;
    Ok(pretty + "\n")
}

fn pages(inner: &dyn Store, caller: &Caller, handle: HandleId) -> Result<Vec<u8>, Errno> {
    let mut text = Vec::new();
    loop {
        let mut question = vec![0; control::ANSWER];
        question[..8].copy_from_slice(&(text.len() as u64).to_le_bytes());
        let page: Controlled = wait(|reply| {
            inner.ioctl(caller, handle, control::LAYOUT, &question, control::ANSWER, reply);
        })?;
        let end = page.data.iter().position(|byte| *byte == 0);
        text.extend_from_slice(&page.data[..end.unwrap_or(page.data.len())]);
        if end.is_some() || page.data.is_empty() || text.len() > control::LAYOUT_MOST {
            return Ok(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_in_parts_and_ends() {
        let text = Text::from("0123456789".to_string());
        assert_eq!(text.part(2, 3), b"234");
        assert_eq!(text.part(8, 100), b"89");
        assert_eq!(text.part(10, 1), b"");
        assert_eq!(text.part(u64::MAX, 1), b"");
    }

    #[test]
    fn handles_of_ours_are_told_from_others() {
        let numbers = Numbers::default();
        assert!(is_own(numbers.next()) && numbers.next() != numbers.next());
        assert!(!is_own(HandleId(7)));
    }
}
