//! Changing a file otherwise than by writing: its size, its holes, its durability.

use std::sync::Arc;

use iofwd_mount::store::{Attr, Changes, HandleId, NodeId};
use iofwd_mount::{Caller, Errno, Store};

use crate::wire::call::Call;
use crate::wire::stripe::{FileCall, ObjectCall};

use super::file::{File, Open};
use super::{Striped, wait};

impl Striped {
    /// Set the size of a node, through an open file where there is one.
    pub(super) fn truncate(
        &self,
        caller: &Caller,
        node: NodeId,
        handle: Option<HandleId>,
        size: u64,
    ) -> Result<(), Errno> {
        let call = FileCall::Truncate { node, handle, size };
        let standing = self.data.standing(Some(caller), call)?;
        if standing.cut.is_some() || !standing.accepted {
            self.file(node)?.heed(standing)?;
        }
        Ok(())
    }

    /// Change attributes, the size among them.
    pub(super) fn change(
        &self,
        caller: &Caller,
        node: NodeId,
        changes: &Changes,
    ) -> Result<Attr, Errno> {
        if let Some(size) = changes.size {
            self.truncate(caller, node, changes.handle, size)?;
        }
        let rest = Changes { size: None, ..*changes };
        wait(|reply| self.names.setattr(caller, node, &rest, reply))
    }

    /// Make a file durable: on every server that has some of it, then its size and name.
    pub(super) fn sync(
        &self,
        caller: &Caller,
        open: &Arc<Open>,
        data_only: bool,
    ) -> Result<(), Errno> {
        let file = match open.file(|| self.file_if_striped(open.node)?.ok_or(NO_STRIPES)) {
            Err(errno) if errno == NO_STRIPES => None,
            file => Some(file?),
        };
        let synced = match file {
            Some(file) => file.sync(open.node, open.handle, data_only, Some(caller)),
            None => self.sync_name(caller, open, data_only),
        };
        open.late_error().and(synced)
    }

    fn sync_name(&self, caller: &Caller, open: &Open, data_only: bool) -> Result<(), Errno> {
        wait(|reply| self.names.fsync(caller, open.node, open.handle, data_only, reply))
    }

    /// Allocate, punch or zero a range.
    pub(super) fn allocate(
        &self,
        caller: &Caller,
        open: &Arc<Open>,
        (offset, length): (u64, u64),
        mode: i32,
    ) -> Result<(), Errno> {
        open.check_writable()?;
        let end = offset.checked_add(length).filter(|end| *end <= i64::MAX as u64);
        let end = end.ok_or(Errno::from_raw(libc::EFBIG))?;
        if length == 0 {
            return Err(Errno::EINVAL);
        }
        let keeps_size = mode & libc::FALLOC_FL_KEEP_SIZE != 0;
        if mode & !MODES != 0 {
            return Err(Errno::from_raw(libc::EOPNOTSUPP));
        }
        let file = open.file(|| self.file(open.node))?;
        for _ in 0..TRIES {
            let epoch = if file.epoch() == 0 { file.refresh()? } else { file.epoch() };
            match file.allocate(epoch, mode | libc::FALLOC_FL_KEEP_SIZE, (offset, end)) {
                Err(errno) if errno == Errno::ESTALE => {
                    file.refresh()?;
                    continue;
                }
                result => result?,
            }
            let end = if keeps_size { 0 } else { end };
            let wrote = FileCall::Wrote { handle: open.handle, end, epoch, append: false };
            let standing = self.data.standing(Some(caller), wrote)?;
            if standing.accepted {
                return Ok(());
            }
            file.heed(standing)?;
        }
        Err(Errno::EIO)
    }
}

impl File {
    /// Make the objects durable, then what the server that has the names knows of the file.
    pub(super) fn sync(
        &self,
        node: NodeId,
        handle: HandleId,
        data_only: bool,
        caller: Option<&Caller>,
    ) -> Result<(), Errno> {
        self.everywhere(ObjectCall::Sync { object: self.object, data_only })?;
        let call = Call::Fsync { node, handle, data_only };
        self.data.names().demand(caller, call, &[], 0).answer().map(drop)
    }

    /// Allocate, punch or zero the part of a range that each server has.
    fn allocate(&self, epoch: u64, mode: i32, (start, end): (u64, u64)) -> Result<(), Errno> {
        let share = |turn, size| self.geometry.share(turn, size);
        let parts = self.turns().map(|(turn, number)| {
            let offset = share(turn, start);
            (number, offset, share(turn, end) - offset)
        });
        self.data.ask_all(parts.filter(|(_, _, length)| *length > 0).map(
            |(number, offset, length)| {
                let object = self.object;
                (number, ObjectCall::Allocate { object, epoch, mode, offset, length })
            },
        ))
    }
}

/// What can be done to each server's part of a range by itself.
const MODES: i32 =
    libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
const NO_STRIPES: Errno = Errno::from_raw(libc::ENODATA);
const TRIES: usize = 1_000;
