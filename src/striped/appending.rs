//! Appending: where the file ends when its turn comes, whoever else appends through whatever agent.

use std::sync::mpsc;
use std::sync::{Arc, PoisonError};

use iofwd_mount::store::WriteAt;
use iofwd_mount::{Caller, Errno, Reply};

use crate::wire::stripe::{FileCall, Standing};

use super::Striped;
use super::data::Turn;
use super::file::{File, Open};
use super::writing::{Writing, settle};

impl Striped {
    /// Append, when it is our turn.
    pub(super) fn append(
        &self,
        caller: &Caller,
        open: &Arc<Open>,
        file: &Arc<File>,
        data: &[u8],
    ) -> Result<u32, Errno> {
        let _alone = file.appending.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = open.handle;
        let wrote = |end, epoch| FileCall::Wrote { handle, end, epoch, append: true };
        for _ in 0..TRIES {
            let turn = match file.data.turn(caller, FileCall::Append { handle })? {
                Turn::Ours(turn) => turn,
                Turn::Done(count) => {
                    settle(open, file, Some(caller))?;
                    return Ok(count);
                }
            };
            if turn.cut.is_some() {
                // Not while something has to be cut off: the turn is given back.
                let standing = file.data.standing(Some(caller), wrote(0, NEVER))?;
                file.heed(standing)?;
                continue;
            }
            match self.append_at(caller, file, turn, data) {
                Ok(count) => {
                    let end = turn.size + u64::from(count);
                    let standing = file.data.standing(Some(caller), wrote(end, turn.epoch))?;
                    if standing.accepted {
                        settle(open, file, Some(caller))?;
                        return Ok(count);
                    }
                    file.heed(standing)?;
                }
                Err(errno) => {
                    let standing = file.data.standing(Some(caller), wrote(0, NEVER))?;
                    if errno != Errno::ESTALE {
                        return Err(errno);
                    }
                    file.heed(standing)?;
                }
            }
        }
        Err(Errno::EIO)
    }

    /// Write where the file ends, through the queues, and wait for it.
    fn append_at(
        &self,
        caller: &Caller,
        file: &Arc<File>,
        turn: Standing,
        data: &[u8],
    ) -> Result<u32, Errno> {
        let writing = Arc::new(Writing { file: Arc::clone(file), epoch: turn.epoch });
        let (sender, receiver) = mpsc::channel();
        let reply = Reply::call(move |written| {
            let _ = sender.send(written);
        });
        let at = WriteAt {
            node: file.node,
            handle: iofwd_mount::store::HandleId(0),
            offset: turn.size,
            append: false,
            late: false,
        };
        self.common.engine.write(self.asker(caller), None, writing, &at, data, reply);
        receiver.recv().unwrap_or(Err(Errno::EIO))
    }
}

/// No epoch: nothing was written.
const NEVER: u64 = u64::MAX;
/// An append that is in vain so often would be so for ever.
const TRIES: usize = 1_000;
