//! For whom a request waits within the window of its server.
//!
//! Processes that read a file in step come back one by one when their batch is done. If the first of
//! them went at once it would go alone, and so would each of the others, every time for the price of a
//! place to get to; and whoever went ahead once is never in step again. So behind a batch of a file
//! the next of that file waits for those that went with it, ever more seldom where that is in vain.

use crate::batch::Batch;
use crate::request::{FileId, Operation, Request};
use crate::time::Time;

/// Who may come back to one server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Company {
    /// What went there last, and when the window began in which it did.
    object: Option<(FileId, Operation)>,
    window: Time,
    /// Requests of that object that went in that window, less those that came since.
    absent: u32,
    /// For how many more batches of that object it counts that one of them had several members.
    together: u32,
    /// When one of them came, went or was done last.
    moved: Time,
    /// The window in which the wait for others began, and how many could have gone then.
    alone: Option<(Time, u32)>,
    /// Chances to wait that are still to be left out, and how many that were last time.
    skip: u32,
    patience: u32,
}

impl Company {
    /// A request came.
    pub(super) fn came(&mut self, now: Time, request: &Request) {
        if self.object == Some(object(request)) {
            self.absent = self.absent.saturating_sub(1);
            self.moved = now;
        }
    }

    /// A request is done.
    pub(super) fn done(&mut self, now: Time, request: &Request) {
        if self.object == Some(object(request)) {
            self.moved = now;
        }
    }

    /// A batch went, in the window that began then.
    pub(super) fn went(&mut self, now: Time, window: Time, batch: &Batch) {
        let first = &batch.requests()[0];
        let members = batch.requests().len() as u32;
        self.judge(window, first, members);
        if self.object != Some(object(first)) {
            self.together = 0;
        }
        self.together = if members > 1 { REMEMBERED } else { self.together.saturating_sub(1) };
        if !self.has_gone(window) || self.object != Some(object(first)) {
            (self.object, self.window, self.absent) = (Some(object(first)), window, 0);
        }
        self.absent += members;
        self.moved = now;
    }

    /// A request waits for others in this window, where so many could have gone.
    pub(super) fn wait(&mut self, window: Time, members: u32) {
        if self.alone.is_none_or(|(began, _)| began != window) {
            self.alone = Some((window, members));
        }
    }

    /// Since when a request has reason to wait for others, if it has any.
    pub(super) fn since(&self, request: &Request) -> Option<Time> {
        (self.skip == 0 && self.is_chance(request)).then_some(self.moved)
    }

    /// Whether requests of this object go together at all, as of late some did.
    pub(super) fn goes_together(&self, request: &Request) -> bool {
        self.object == Some(object(request)) && self.together > 0
    }

    /// Whether something went in this window.
    pub(super) fn has_gone(&self, window: Time) -> bool {
        self.object.is_some() && self.window == window
    }

    /// Was it worth while to wait? A wait that the end of the window cut short tells nothing.
    fn judge(&mut self, window: Time, first: &Request, members: u32) {
        match self.alone.take() {
            Some((began, alone)) if began == window => {
                let vain = members <= alone;
                let patience = if vain { self.patience * 2 + 1 } else { self.patience / 2 };
                self.patience = patience.min(PATIENCE);
                self.skip = self.patience;
            }
            None if self.is_chance(first) => self.skip = self.skip.saturating_sub(1),
            _ => {}
        }
    }

    /// Whether some are away that may go together with this request.
    fn is_chance(&self, request: &Request) -> bool {
        self.absent > 0 && self.object == Some(object(request))
    }
}

const fn object(request: &Request) -> (FileId, Operation) {
    (request.file, request.operation)
}

/// Batches of one request after which those of several are forgotten.
const REMEMBERED: u32 = 16;
/// Chances that are left out at most: one wait in a thousand may be in vain.
const PATIENCE: u32 = 1_023;
