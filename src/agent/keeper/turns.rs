//! Appending: one client at a time, in the order in which they asked.
//!
//! Where an append lands is the size of the file when its turn comes, and the size stays until the data
//! are there. A client that leaves gives its turn to the next.
//!
//! A turn that was lost – its client was given up, or this server was started again and knows of none – may
//! belong to somebody who writes all the same, late. So before the next turn begins the file gets another
//! epoch, by a cut that takes nothing away: what was begun under the old one is refused everywhere.

use std::collections::VecDeque;
use std::sync::Arc;

use iofwd_mount::Errno;

use crate::agent::Agent;
use crate::agent::files::OpenFile;
use crate::backend::posix::Identity;
use crate::wire::stripe::Standing;

use super::{File, Keeper, cut_off, lock, standing};

/// Whose turn it is, and who comes next.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Who has it, and where the file ended when it began.
    holder: Option<(u64, u64)>,
    waiting: VecDeque<Waiting>,
    /// Every turn that was ever given has ended in order.
    are_over: bool,
}

/// Tells a client that it is its turn.
pub(super) type Grant = Box<dyn FnOnce(Result<Standing, Errno>) + Send>;

struct Waiting {
    client: u64,
    open: Arc<OpenFile>,
    grant: Grant,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Turns {
    /// Those of a file that nobody can have appended to yet.
    pub(super) fn of_new_file() -> Turns {
        Turns { are_over: true, ..Turns::default() }
    }

    pub(super) fn is_taken(&self) -> bool {
        self.holder.is_some()
    }

    pub(super) fn is_held_by(&self, client: u64) -> bool {
        self.begun_at(client).is_some()
    }

    /// Where the file ended when that client's turn began, if it is its turn.
    pub(super) fn begun_at(&self, client: u64) -> Option<u64> {
        self.holder.filter(|(holder, _)| *holder == client).map(|(_, size)| size)
    }
}

impl Keeper {
    /// Wait for a turn; `grant` is called when it comes.
    pub(super) fn append(&self, agent: &Agent, client: u64, open: Arc<OpenFile>, grant: Grant) {
        match self.file(agent, &open.node.inode) {
            Ok(file) => {
                let mut file = lock(&file);
                // One that comes back asks again for what it waited for, or was given.
                file.turns.waiting.retain(|waiting| waiting.client != client);
                if file.turns.is_held_by(client) {
                    file.turns.holder = None;
                    file.turns.waiting.push_front(Waiting { client, open, grant });
                    return file.next_turn();
                }
                file.turns.waiting.push_back(Waiting { client, open, grant });
                file.next_turn();
            }
            Err(errno) => grant(Err(errno)),
        }
    }

    /// A client's turn is over. Whether it was its turn.
    pub(super) fn end_turn(
        &self,
        agent: &Agent,
        client: u64,
        open: &OpenFile,
    ) -> Result<bool, Errno> {
        let file = self.file(agent, &open.node.inode)?;
        let mut file = lock(&file);
        let was_held = file.turns.is_held_by(client);
        if was_held {
            file.turns.holder = None;
            file.next_turn();
        }
        Ok(was_held)
    }

    /// A client is gone.
    pub(in crate::agent) fn left(&self, client: u64) {
        Identity::assume_agent();
        // Collected first: whoever is granted a turn may call back.
        let files: Vec<_> = self.files.iter().map(|file| Arc::clone(&file)).collect();
        for file in files {
            let mut file = lock(&file);
            file.turns.waiting.retain(|waiting| waiting.client != client);
            if file.turns.is_held_by(client) {
                file.turns.holder = None;
                file.turns.are_over = false;
                file.next_turn();
            }
        }
    }

    /// How many wait for their turn.
    pub(in crate::agent) fn waiting(&self) -> usize {
        self.files.iter().map(|file| lock(&file).turns.waiting.len()).sum()
    }
}

impl File {
    fn next_turn(&mut self) {
        while self.turns.holder.is_none() {
            let Some(Waiting { client, open, grant }) = self.turns.waiting.pop_front() else {
                return;
            };
            grant(self.begin_turn(client, &open));
        }
    }

    /// It is that client's turn. With this thread acting as the agent.
    fn begin_turn(&mut self, client: u64, open: &OpenFile) -> Result<Standing, Errno> {
        let inode = &open.node.inode;
        let size = open.file.attr(inode)?.size;
        let stripes = self.stripes.as_mut().ok_or(Errno::EINVAL)?;
        if !self.turns.are_over {
            cut_off(inode, stripes, size)?;
            self.turns.are_over = true;
        }
        self.turns.holder = Some((client, size));
        Ok(standing(true, size, stripes))
    }
}
