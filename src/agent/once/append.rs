//! Appending once. Where an append went nobody is told, so that the end of the file is written down
//! before, and kept from other agents meanwhile.

use std::io::{IoSlice, IoSliceMut};

use iofwd_mount::Errno;

use crate::agent::files::OpenFile;
use crate::agent::state::{Deed, Intent, Spot, Verdict};
use crate::backend::posix::{File, Identity};

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

    /// An agent died before it could say what came of an append: look. One that was cut short by
    /// that is taken back, because its client sends it again.
    fn settle_append(&self, left: &Intent, open: &OpenFile) {
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
