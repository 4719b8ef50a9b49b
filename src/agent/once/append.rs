//! Appending once. Where an append went nobody is told, so that the end of the file is written down
//! before, and kept from other agents meanwhile.

use std::io::{IoSlice, IoSliceMut};

use iofwd_mount::Errno;

use crate::agent::files::OpenFile;
use crate::agent::state::{Deed, Held, Intent, SessionName, Spot, State, Verdict};
use crate::backend::posix::{File, Identity, Inode, Key};

use super::Ticket;

impl Ticket {
    /// Append, unless it was done before; how many bytes.
    pub(in crate::agent) fn append(&self, open: &OpenFile, data: &[u8]) -> Result<usize, Errno> {
        let end = Spot::end(open.node.inode.key());
        let mut held = self.state.names.hold(&[end])?;
        let left = held.left_behind(end);
        for intent in &left {
            Identity::as_agent(|| self.settle_append(intent, open));
        }
        let before = if self.again { self.record.kept(self.place, self.id)? } else { None };
        if let Some(before) = before {
            held.forget()?;
            return match before.check()? {
                Verdict::Written(count) => Ok(count as usize),
                Verdict::Done | Verdict::Made(_) | Verdict::Failed(_) => Err(Errno::EIO),
            };
        }
        let first = data[..data.len().min(FIRST)].to_vec();
        let (size, length) = (open.file.size()?, data.len() as u32);
        held.intend(&self.intent(Deed::Append { end, size, length, first }))?;
        let done = open.file.write(&[IoSlice::new(data)], 0, true);
        self.keep(match done {
            Ok(count) => Verdict::Written(count as u32),
            Err(errno) => Verdict::Failed(errno.raw()),
        });
        held.forget()?;
        done
    }

    /// Hold the end of a file, to say later that it goes on. Not while anything of the file is held.
    pub(in crate::agent) fn hold_end(&self, file: Key) -> Result<End<'_>, Errno> {
        let spot = Spot::end(file);
        Ok(End { ticket: self, spot, held: self.state.names.hold(&[spot])? })
    }

    /// How many bytes a call that was sent before appended, if it did.
    pub(in crate::agent) fn extended(&self) -> Result<Option<u32>, Errno> {
        let before = if self.again { self.record.kept(self.place, self.id)? } else { None };
        match before.map(Verdict::check).transpose()? {
            Some(Verdict::Written(count)) => Ok(Some(count)),
            Some(Verdict::Done | Verdict::Made(_) | Verdict::Failed(_)) | None => Ok(None),
        }
    }

    /// Take bytes out of the middle, or put some in, unless it was done before.
    pub(in crate::agent) fn shift(
        &self,
        open: &OpenFile,
        act: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let end = Spot::end(open.node.inode.key());
        let mut held = self.state.names.hold(&[end])?;
        for intent in held.left_behind(end) {
            Identity::as_agent(|| self.settle_append(&intent, open));
        }
        if self.again
            && let Some(before) = self.record.kept(self.place, self.id)?
        {
            held.forget()?;
            return before.check().map(drop);
        }
        held.intend(&self.intent(Deed::Shift { end, size: open.file.size()? }))?;
        let done = act();
        self.keep(done.map_or_else(|errno| Verdict::Failed(errno.raw()), |()| Verdict::Done));
        held.forget()?;
        done
    }

    /// An agent died before it could say what came of an append: look. One that was cut short by
    /// that is taken back, because its client sends it again.
    fn settle_append(&self, left: &Intent, open: &OpenFile) {
        if let Deed::Shift { size, .. } = left.deed
            && open.file.size().is_ok_and(|now| now != size)
        {
            self.state.keep_for(&left.session, left.place, left.id, Verdict::Done);
        }
        let Deed::Append { size, length, first, .. } = &left.deed else { return };
        let looked = File::open_again(&open.node.inode, libc::O_RDWR, false)
            .and_then(|file| Ok((appended(&file, *size, *length, first)?, file)));
        match looked {
            Ok((Appended::Whole, _)) => {
                let verdict = Verdict::Written(*length);
                self.state.keep_for(&left.session, left.place, left.id, verdict);
            }
            Ok((Appended::Part, file)) => {
                if let Err(error) = file.set_size(*size) {
                    tracing::error!(%error, "an append that was cut short stays cut short");
                }
            }
            Ok((Appended::Nothing, _)) => {}
            Err(error) => tracing::error!(%error, "cannot look what came of an append"),
        }
    }
}

/// The end of a file, held by a call that must not be done twice.
pub(in crate::agent) struct End<'a> {
    ticket: &'a Ticket,
    spot: Spot,
    held: Held<'a>,
}

impl End<'_> {
    /// Say that a file goes on behind where it ended, because bytes of it were written elsewhere.
    pub(in crate::agent) fn extend(
        mut self,
        size: u64,
        length: u32,
        act: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let deed = Deed::Append { end: self.spot, size, length, first: Vec::new() };
        self.held.intend(&self.ticket.intent(deed))?;
        let done = act();
        let verdict = done.map_or_else(|e| Verdict::Failed(e.raw()), |()| Verdict::Written(length));
        self.ticket.keep(verdict);
        self.held.forget()?;
        done
    }
}

/// That a file whose bytes are elsewhere is about to end earlier, whoever wants it.
pub(in crate::agent) fn shrinking(file: Key, size: u64, epoch: u64) -> Intent {
    let deed = Deed::Shrink { end: Spot::end(file), size, epoch };
    Intent { session: SessionName::default(), place: 0, id: 0, deed }
}

/// A server died in the middle of changing where a file ends whose bytes are elsewhere: look whether it
/// did. Done before anything else changes that. Where the file ends now, if that has to be told to
/// whoever has the bytes, unless they are beyond that epoch.
pub(in crate::agent) fn settle_end(
    state: &State,
    inode: &Inode,
) -> Result<Option<(u64, u64)>, Errno> {
    let end = Spot::end(inode.key());
    let mut held = state.names.hold(&[end])?;
    let left = held.left_behind(end);
    if left.is_empty() {
        return Ok(None);
    }
    let now = inode.attr()?.size;
    let mut shrunk = None;
    for intent in &left {
        match intent.deed {
            Deed::Append { size, length, .. } if now >= size + u64::from(length) => {
                let verdict = Verdict::Written(length);
                state.keep_for(&intent.session, intent.place, intent.id, verdict);
            }
            Deed::Shrink { size, epoch, .. } if now == size => shrunk = Some((size, epoch)),
            Deed::Append { .. }
            | Deed::Shrink { .. }
            | Deed::Make(_)
            | Deed::Remove(..)
            | Deed::Rename(..)
            | Deed::Shift { .. } => {}
        }
    }
    // What is to be told is written down before this is forgotten, or asked for again.
    if shrunk.is_none() {
        held.forget()?;
    }
    Ok(shrunk)
}

/// What was found out about the end of a file is written down.
pub(in crate::agent) fn settled(state: &State, inode: &Inode) -> Result<(), Errno> {
    let end = Spot::end(inode.key());
    let mut held = state.names.hold(&[end])?;
    held.left_behind(end);
    Ok(held.forget()?)
}

/// How much of an append is there.
enum Appended {
    Whole,
    Part,
    Nothing,
}

fn appended(file: &File, size: u64, length: u32, first: &[u8]) -> Result<Appended, Errno> {
    let there = file.size()?.saturating_sub(size);
    let mut bytes = vec![0; first.len().min(there as usize)];
    let count = file.read(&mut [IoSliceMut::new(&mut bytes)], size)?;
    let is_ours = count == bytes.len() && first.starts_with(&bytes);
    Ok(match there {
        0 => Appended::Nothing,
        _ if !is_ours => Appended::Nothing,
        there if there >= u64::from(length) => Appended::Whole,
        _ => Appended::Part,
    })
}

/// Bytes by which an append is recognised.
const FIRST: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::posix::Tree;
    use std::ffi::OsStr;

    #[test]
    fn an_append_is_there_or_in_part_or_not() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("file");
        let tree = Tree::open(room.path()).unwrap();
        let look = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            let inode = tree.root().lookup(OsStr::new("file")).unwrap().open().unwrap();
            let file = File::open_again(&inode, libc::O_RDWR, false).unwrap();
            appended(&file, 3, 4, b"abcd").unwrap()
        };
        assert!(matches!(look(b"xyz"), Appended::Nothing));
        assert!(matches!(look(b"xyzabcd"), Appended::Whole));
        assert!(matches!(look(b"xyzabcdmore"), Appended::Whole));
        assert!(matches!(look(b"xyzab"), Appended::Part));
        assert!(matches!(look(b"xyzother"), Appended::Nothing), "somebody else's");
        assert!(matches!(look(b"x"), Appended::Nothing), "cut off since");
    }
}
