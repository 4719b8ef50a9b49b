//! What the processes of a job ask for: the access patterns of the literature.

use super::random::Random;
use crate::request::{Extent, Operation};
use crate::time::{Span, Time};

/// One application: processes that each read or write their share, one request at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// How many processes it has.
    pub processes: u32,
    /// How many of them share a compute node, and so its network port.
    pub per_node: u32,
    /// Which bytes each process asks for.
    pub pattern: Pattern,
    /// Whether it reads or writes.
    pub operation: Operation,
    /// Bytes of one request.
    pub request: u64,
    /// Bytes that each process moves in all; a multiple of the request.
    pub volume: u64,
    /// When the job starts.
    pub start: Time,
    /// The processes of each node start at a random moment of this span after the job does.
    pub stagger: Span,
    /// How long a process computes between an answer and its next request.
    pub think: Span,
    /// A random part of this is added to it each time: no two processes run alike.
    pub jitter: Span,
}

/// Which bytes a process asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Each process goes through a file of its own.
    FilePerProcess,
    /// One file; each process goes through a contiguous part of it.
    SharedContiguous,
    /// One file; the processes' requests lie side by side, round after round ("1D strided").
    SharedStrided,
    /// One file; each request is anywhere in it, at a multiple of its size.
    Random,
}

impl Pattern {
    /// A pattern by its name.
    pub fn by_name(name: &str) -> Option<Pattern> {
        match name {
            "file-per-process" => Some(Pattern::FilePerProcess),
            "contiguous" => Some(Pattern::SharedContiguous),
            "strided" => Some(Pattern::SharedStrided),
            "random" => Some(Pattern::Random),
            _ => None,
        }
    }
}

impl Job {
    /// Requests that each process issues.
    pub const fn rounds(&self) -> u64 {
        self.volume / self.request
    }

    /// Bytes that the job moves in all.
    pub const fn bytes(&self) -> u64 {
        self.volume * self.processes as u64
    }

    /// How many files it has.
    pub const fn files(&self) -> u64 {
        match self.pattern {
            Pattern::FilePerProcess => self.processes as u64,
            Pattern::SharedContiguous | Pattern::SharedStrided | Pattern::Random => 1,
        }
    }

    /// The size of each of its files.
    pub const fn file_size(&self) -> u64 {
        self.bytes() / self.files()
    }

    /// How many compute nodes it runs on.
    pub const fn nodes(&self) -> u32 {
        self.processes.div_ceil(self.per_node)
    }

    /// The file, counted within the job, and the bytes that a process asks for in a round.
    pub(super) const fn access(&self, rank: u32, round: u64, random: &mut Random) -> (u64, Extent) {
        let (rank, all) = (rank as u64, self.processes as u64);
        let (file, offset) = match self.pattern {
            Pattern::FilePerProcess => (rank, round * self.request),
            Pattern::SharedContiguous => (0, rank * self.volume + round * self.request),
            Pattern::SharedStrided => (0, (round * all + rank) * self.request),
            Pattern::Random => (0, random.below(self.rounds() * all) * self.request),
        };
        (file, Extent::new(offset, self.request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(pattern: Pattern) -> Vec<(u64, u64)> {
        let job = Job {
            processes: 3,
            per_node: 2,
            pattern,
            operation: Operation::Read,
            request: 10,
            volume: 20,
            start: Time::ZERO,
            stagger: Span::ZERO,
            think: Span::ZERO,
            jitter: Span::ZERO,
        };
        let mut random = Random::new(3, 0);
        let mut found = Vec::new();
        for rank in 0..3 {
            for round in 0..job.rounds() {
                let (file, extent) = job.access(rank, round, &mut random);
                assert_eq!(extent.length, 10);
                assert!(file < job.files() && extent.end() <= job.file_size());
                found.push((file, extent.offset));
            }
        }
        found
    }

    #[test]
    fn the_patterns_are_those_of_the_literature() {
        let per_process = [(0, 0), (0, 10), (1, 0), (1, 10), (2, 0), (2, 10)];
        assert_eq!(offsets(Pattern::FilePerProcess), per_process);
        let contiguous = [(0, 0), (0, 10), (0, 20), (0, 30), (0, 40), (0, 50)];
        assert_eq!(offsets(Pattern::SharedContiguous), contiguous);
        let strided = [(0, 0), (0, 30), (0, 10), (0, 40), (0, 20), (0, 50)];
        assert_eq!(offsets(Pattern::SharedStrided), strided);
        assert!(offsets(Pattern::Random).iter().all(|(_, offset)| offset % 10 == 0));
    }
}
