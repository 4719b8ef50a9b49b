//! A byte-level model of the files: what each read must see, whatever the order of issue was.
//!
//! Every byte holds the number of the write that wrote it last. Writes are applied to one copy when
//! they are issued and to another when they complete; a read looks at both copies at both times. If
//! conflicting requests keep their order and never overlap in time, all four agree with the outcome
//! of running the requests one after the other in order of arrival.

use std::collections::BTreeMap;

use iofwd_scheduler::request::{FileId, Operation, Request, RequestId};

/// Largest offset used.
pub(crate) const SIZE: u64 = 160;

#[derive(Default)]
pub(crate) struct Device {
    early: BTreeMap<FileId, Vec<u64>>,
    late: BTreeMap<FileId, Vec<u64>>,
    /// Every request that completed without error, by its place in the order of arrival.
    log: BTreeMap<u64, Request>,
    seen: BTreeMap<RequestId, Vec<Vec<u64>>>,
}

impl Device {
    /// A request, the `arrival`-th, is issued and will succeed.
    pub(crate) fn issue(&mut self, arrival: u64, request: &Request) {
        if request.operation == Operation::Write {
            write(&mut self.early, arrival, request);
        }
        self.look(request);
    }

    /// A request that succeeded completes.
    pub(crate) fn complete(&mut self, arrival: u64, request: &Request) {
        if request.operation == Operation::Write {
            write(&mut self.late, arrival, request);
        }
        self.look(request);
        self.log.insert(arrival, *request);
    }

    fn look(&mut self, request: &Request) {
        if request.operation == Operation::Read {
            for copy in [&mut self.early, &mut self.late] {
                let bytes = copy.entry(request.file).or_insert_with(blank);
                let view = bytes[range(request)].to_vec();
                self.seen.entry(request.id).or_default().push(view);
            }
        }
    }

    /// Compares everything seen with the outcome of running the log in order.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut files = BTreeMap::new();
        for (&arrival, request) in &self.log {
            match request.operation {
                Operation::Write => write(&mut files, arrival, request),
                Operation::Read => {
                    let bytes = files.entry(request.file).or_insert_with(blank);
                    let expected = &bytes[range(request)];
                    if self.seen[&request.id].iter().any(|view| view != expected) {
                        return Err(format!("{:?} saw other bytes than it should", request.id));
                    }
                }
            }
        }
        for (file, bytes) in &files {
            for copy in [&self.early, &self.late] {
                if copy.get(file).is_some_and(|held| held != bytes) {
                    return Err(format!("{file:?} ends with other bytes than it should"));
                }
            }
        }
        Ok(())
    }
}

fn blank() -> Vec<u64> {
    vec![0; usize::try_from(SIZE).expect("a small number")]
}

fn range(request: &Request) -> std::ops::Range<usize> {
    let at = |offset: u64| usize::try_from(offset).expect("a small number");
    at(request.extent.offset)..at(request.extent.end())
}

fn write(files: &mut BTreeMap<FileId, Vec<u64>>, arrival: u64, request: &Request) {
    files.entry(request.file).or_insert_with(blank)[range(request)].fill(arrival);
}
