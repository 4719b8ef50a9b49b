//! Calls that are done once, however often a client sends them.
//!
//! Before something is done to a name it is looked how things are, and that is written down with what
//! is about to be done; afterwards, what came of it. Whoever finds the first without the second looks
//! again: an agent died in between, and either did it or not.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use iofwd_mount::store::{Created, Entry, OpenHow};
use iofwd_mount::{Errno, Reply};

use crate::backend::posix::{Identity, Inode};

use super::Agent;
use super::nodes::Node;
use super::state::{Deed, Identified, Intent, Record, Spot, State, Verdict};

mod append;

pub(super) use append::{settle_end, settled, shrinking};

/// The right to do a call of a client, once.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(super) state: Arc<State>,
    pub(super) record: Arc<Record>,
    pub(super) place: u16,
    pub(super) id: u64,
    /// It was sent before, and may have been done.
    pub(super) again: bool,
}

/// A name that a call is about.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
    pub(super) parent: Arc<Node>,
    pub(super) name: &'a OsStr,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Make,
    Remove,
    Rename,
}

/// How a call came to be done.
#[derive(Debug)]
pub(super) enum Outcome<T> {
    /// Just now.
    Now(T),
    /// Before it was sent again.
    Before(Verdict),
}

impl At<'_> {
    fn spot(&self) -> Spot {
        Spot::name(self.parent.inode.key(), self.name.as_bytes())
    }

    /// What has the name now.
    fn found(&self) -> Option<Identified> {
        found(&self.parent.inode, self.name)
    }
}

fn found(parent: &Arc<Inode>, name: &OsStr) -> Option<Identified> {
    let found = parent.lookup(name).ok()?;
    Some(Identified::new(found.key, found.birth))
}

impl Ticket {
    /// Change names, unless it was done before.
    pub(super) fn names<T>(
        &self,
        change: Change,
        names: &[At<'_>],
        act: impl FnOnce() -> Result<T, Errno>,
        verdict: impl FnOnce(&T) -> Verdict,
    ) -> Result<Outcome<T>, Errno> {
        let spots: Vec<Spot> = names.iter().map(At::spot).collect();
        let mut held = self.state.names.hold(&spots)?;
        let mut is_news = false;
        for (at, spot) in names.iter().zip(&spots) {
            for left in held.left_behind(*spot) {
                self.settle(&left, *spot, at);
                is_news = true;
            }
        }
        let before = if self.again { self.record.kept(self.place, self.id)? } else { None };
        let deed = if before.is_none() { deed(change, names, &spots) } else { None };
        if is_news && deed.is_none() {
            held.forget()?;
        }
        if let Some(before) = before {
            return before.check().map(Outcome::Before);
        }
        let Some(deed) = deed else { return act().map(Outcome::Now) };
        held.intend(&self.intent(deed))?;
        let done = act();
        self.keep(match &done {
            Ok(done) => verdict(done),
            Err(errno) => Verdict::Failed(errno.raw()),
        });
        held.forget()?;
        done.map(Outcome::Now)
    }

    /// Do something of which only the answer tells whether it was done.
    pub(super) fn plainly<T>(
        &self,
        act: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<Outcome<T>, Errno> {
        if self.again
            && let Some(before) = self.record.kept(self.place, self.id)?
        {
            return before.check().map(Outcome::Before);
        }
        let done = act();
        self.keep(done.as_ref().map_or_else(|e| Verdict::Failed(e.raw()), |_| Verdict::Done));
        done.map(Outcome::Now)
    }

    fn intent(&self, deed: Deed) -> Intent {
        Intent { session: self.record.name(), place: self.place, id: self.id, deed }
    }

    fn keep(&self, verdict: Verdict) {
        if let Err(error) = self.record.keep(self.place, self.id, verdict) {
            tracing::error!(%error, "what came of a call could not be kept");
        }
    }

    /// An agent died before it could say what came of this: look.
    fn settle(&self, left: &Intent, spot: Spot, at: &At<'_>) {
        let now = Identity::as_agent(|| at.found());
        let verdict = match &left.deed {
            Deed::Make(_) => now.map(Verdict::Made),
            Deed::Remove(_, was) => (now != Some(*was)).then_some(Verdict::Done),
            Deed::Rename(_, to, moved) => {
                let is_there = now == Some(*moved);
                (is_there == (spot == *to)).then_some(Verdict::Done)
            }
            Deed::Append { .. } | Deed::Shift { .. } | Deed::Shrink { .. } => None,
        };
        tracing::info!(id = left.id, ?verdict, "looked what came of a call whose agent died");
        if let Some(verdict) = verdict {
            let keep = || self.state.keep_for(&left.session, left.place, left.id, verdict);
            Identity::as_agent(keep);
        }
    }
}

/// What is to be written down; nothing if doing it twice is as good as doing it once.
fn deed(change: Change, names: &[At<'_>], spots: &[Spot]) -> Option<Deed> {
    let (first, spot) = (names.first()?, *spots.first()?);
    match change {
        Change::Make => first.found().is_none().then_some(Deed::Make(spot)),
        Change::Remove => Some(Deed::Remove(spot, first.found()?)),
        Change::Rename => {
            let moved = first.found()?;
            // Two names of one file: nothing happens.
            let is_other = names.get(1)?.found() != Some(moved);
            is_other.then_some(Deed::Rename(spot, *spots.get(1)?, moved))
        }
    }
}

impl Agent {
    /// What a call made, as the client wants to hear of it.
    pub(super) fn entered(&self, at: &At<'_>, outcome: Outcome<Entry>) -> Result<Entry, Errno> {
        match outcome {
            Outcome::Now(entry) => Ok(entry),
            Outcome::Before(verdict) => Ok(self.made_before(at, verdict)?.1),
        }
    }

    /// The file that a call made, and has open.
    pub(super) fn created(
        &self,
        at: &At<'_>,
        how: OpenHow,
        outcome: Outcome<Created>,
    ) -> Result<Created, Errno> {
        let verdict = match outcome {
            Outcome::Now(created) => return Ok(created),
            Outcome::Before(verdict) => verdict,
        };
        let (node, entry) = self.made_before(at, verdict)?;
        let opened = self.reopen_file(Arc::clone(&node), how.flags, how.readable);
        opened
            .map(|handle| Created { entry, handle })
            .inspect_err(|_| self.nodes.forget(node.id, 1))
    }

    /// What was made before, if it still has its name.
    fn made_before(&self, at: &At<'_>, verdict: Verdict) -> Result<(Arc<Node>, Entry), Errno> {
        let Verdict::Made(made) = verdict else { return Err(Errno::ESTALE) };
        let found = Identity::as_agent(|| at.parent.inode.lookup(at.name));
        let found = found.map_err(|_| Errno::ESTALE)?;
        if Identified::new(found.key, found.birth) != made {
            return Err(Errno::ESTALE);
        }
        let node = self.nodes.refer(&found)?;
        let entry = node.entry(found.attr);
        Ok((node, entry))
    }

    /// That this was made.
    pub(super) fn verdict_of(&self, entry: &Entry) -> Verdict {
        let node = self.nodes.get(entry.attr.node);
        node.map_or(Verdict::Done, |node| {
            Verdict::Made(Identified::new(node.inode.key(), node.inode.birth()))
        })
    }
}

/// The answer to a call that is answered before it returns.
pub(super) fn at_once<T: iofwd_mount::reply::Answer + Send + 'static>(
    ask: impl FnOnce(Reply<T>),
) -> Result<T, Errno> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    ask(Reply::call(move |result| {
        let _ = sender.send(result);
    }));
    receiver.try_recv().unwrap_or(Err(Errno::EIO))
}
