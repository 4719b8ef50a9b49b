//! Bytes that are not what was written: where the first one is, and where it comes from.

use super::super::content::{Content, Mismatch};
use super::super::plan::Plan;
use super::super::step::Step;
use super::{End, Worker};

/// What a process has found to be wrong: the first of it, and how much.
#[derive(Default)]
pub(super) struct Wrong {
    first: Option<(Mismatch, Step)>,
    bytes: u64,
}

impl Wrong {
    pub(super) fn count(&mut self, found: Option<Mismatch>, step: Step) {
        if let Some(mismatch) = found {
            self.bytes += mismatch.bytes;
            self.first.get_or_insert((mismatch, step));
        }
    }

    /// What the process tells in the end.
    pub(super) fn end(&self, worker: &Worker<'_>) -> End {
        let Some((first, step)) = &self.first else { return End::Well };
        End::Wrong(format!(
            "{}: wrong byte at offset {}: {:#04x} instead of {:#04x}; {}; {} wrong bytes in all",
            worker.path().display(),
            first.offset,
            first.found,
            first.expected,
            origin(worker.plan, first, step.pass),
            self.bytes
        ))
    }
}

/// Where a wrong word comes from, as far as it says so itself.
fn origin(plan: &Plan, mismatch: &Mismatch, pass: u64) -> String {
    let place = Content::new(plan.seed).origin(mismatch.word);
    match plan.file_name(place.file) {
        _ if mismatch.word == 0 => "it is zero: never written, or lost".into(),
        Some(name) if place.pass >= 1 && place.pass <= pass => {
            let age = if place.pass < pass { "stale, " } else { "misplaced, " };
            format!("{age}it belongs to {name}, offset {}, write {}", place.offset, place.pass)
        }
        _ => "nothing that this run has written".into(),
    }
}
