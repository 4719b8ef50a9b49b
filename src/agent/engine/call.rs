//! What is to be done for a request, and whom to tell when it is.

use std::io::IoSlice;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use iofwd_mount::caller::RequestKey;
use iofwd_mount::{DataReply, Errno, Reply};

use crate::agent::once::Ticket;
use crate::backend::posix::Identity;
use crate::budget::Share;

use super::target::Target;

/// A request that waits for its turn.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) file: Arc<dyn Target>,
    pub(super) key: RequestKey,
    pub(super) identity: Option<Identity>,
    pub(super) payload: Payload,
    pub(super) append: bool,
    pub(super) once: Option<Ticket>,
    pub(super) answer: Answer,
}

/// The bytes of a write that waits: copied once, shared by the parts of the call.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    None,
    Bytes(Arc<Kept>, Range<usize>),
}

/// Bytes, and their share of the budget.
#[derive(Debug)]
pub(super) struct Kept {
    bytes: Box<[u8]>,
    _share: Share,
}

impl Payload {
    pub(super) fn copy(data: &[u8], share: Share) -> Payload {
        Payload::Bytes(Arc::new(Kept { bytes: Box::from(data), _share: share }), 0..data.len())
    }

    pub(super) fn part(&self, offset: u64, length: u64) -> Payload {
        match self {
            Payload::None => Payload::None,
            Payload::Bytes(kept, range) => {
                let start = range.start + offset as usize;
                Payload::Bytes(Arc::clone(kept), start..start + length as usize)
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Payload::None => &[],
            Payload::Bytes(kept, range) => &kept.bytes[range.clone()],
        }
    }
}

/// How a request ended well.
#[derive(Debug)]
pub(super) enum Done {
    Read(Vec<u8>),
    Written(usize),
}

impl Done {
    pub(super) fn length(&self) -> u64 {
        match self {
            Done::Read(data) => data.len() as u64,
            Done::Written(count) => *count as u64,
        }
    }
}

/// Whom to tell.
#[derive(Debug)]
pub(super) enum Answer {
    /// The caller of a read.
    Read(DataReply),
    /// The caller of a write; nobody waits for a late one, so its error is kept with the file.
    Write(Reply<u32>, Option<Arc<dyn Target>>),
    /// A call that has other parts: which one this is, and how many bytes it asked for.
    Part(Arc<Whole>, usize, u64),
}

impl Answer {
    pub(super) fn send(self, result: Result<Done, Errno>) {
        match (self, result) {
            (Answer::Read(reply), Ok(Done::Read(data))) => reply.data(&data),
            (Answer::Read(reply), Ok(Done::Written(_))) => reply.error(Errno::EIO),
            (Answer::Read(reply), Err(errno)) => reply.error(errno),
            (Answer::Write(reply, late), result) => {
                send_written(reply, late, result.map(|done| done.length()));
            }
            (Answer::Part(whole, index, asked), result) => whole.finish(index, asked, result),
        }
    }
}

fn send_written(reply: Reply<u32>, late: Option<Arc<dyn Target>>, result: Result<u64, Errno>) {
    if let (Some(file), Err(errno)) = (late, &result) {
        file.failed_late(*errno);
    }
    reply.send(result.map(|count| count as u32));
}

/// A call that was split: it ends when the last of its parts has.
#[derive(Debug)]
pub(super) struct Whole {
    parts: Mutex<Parts>,
}

#[derive(Debug)]
struct Parts {
    results: Vec<Option<Part>>,
    left: usize,
    answer: Option<WholeAnswer>,
}

#[derive(Debug)]
struct Part {
    asked: u64,
    result: Result<Done, Errno>,
}

/// Whom to tell of a call that was split.
#[derive(Debug)]
pub(super) enum WholeAnswer {
    Read(DataReply),
    Write(Reply<u32>, Option<Arc<dyn Target>>),
}

impl Whole {
    pub(super) fn new(answer: WholeAnswer, parts: usize) -> Arc<Whole> {
        let results = (0..parts).map(|_| None).collect();
        let parts = Parts { results, left: parts, answer: Some(answer) };
        Arc::new(Whole { parts: Mutex::new(parts) })
    }

    fn finish(&self, index: usize, asked: u64, result: Result<Done, Errno>) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.results[index] = Some(Part { asked, result });
        parts.left -= 1;
        if parts.left > 0 {
            return;
        }
        let (answer, results) = (parts.answer.take(), std::mem::take(&mut parts.results));
        drop(parts);
        if let Some(answer) = answer {
            answer.send(&join(results));
        }
    }
}

/// One failed part fails the call; what follows a short part does not count.
fn join(results: Vec<Option<Part>>) -> Result<Vec<Done>, Errno> {
    let mut joined = Vec::with_capacity(results.len());
    let mut complete = true;
    for part in results.into_iter().flatten() {
        let done = part.result?;
        if complete {
            complete = done.length() == part.asked;
            joined.push(done);
        }
    }
    Ok(joined)
}

impl WholeAnswer {
    fn send(self, joined: &Result<Vec<Done>, Errno>) {
        match (self, joined) {
            (WholeAnswer::Read(reply), Ok(parts)) => {
                let slices = parts.iter().map(|part| match part {
                    Done::Read(data) => IoSlice::new(data),
                    Done::Written(_) => IoSlice::new(&[]),
                });
                reply.gathered(&slices.collect::<Vec<_>>());
            }
            (WholeAnswer::Read(reply), Err(errno)) => reply.error(*errno),
            (WholeAnswer::Write(reply, late), joined) => {
                let written = joined.as_ref().map(|parts| parts.iter().map(Done::length).sum());
                send_written(reply, late, written.map_err(|errno| *errno));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn read_in_parts(results: Vec<Result<&[u8], Errno>>) -> Result<Vec<u8>, Errno> {
        let (sender, receiver) = mpsc::channel();
        let reply = DataReply::call(move |result| {
            let joined = result.map(|parts| parts.iter().flat_map(|part| part.to_vec()).collect());
            sender.send(joined).unwrap();
        });
        let whole = Whole::new(WholeAnswer::Read(reply), results.len());
        // The last part first: parts end in any order.
        for (index, result) in results.into_iter().enumerate().rev() {
            whole.finish(index, 3, result.map(|data| Done::Read(data.to_vec())));
        }
        receiver.recv().unwrap()
    }

    #[test]
    fn parts_are_joined_in_the_order_of_the_file() {
        assert_eq!(read_in_parts(vec![Ok(b"abc"), Ok(b"def"), Ok(b"g")]), Ok(b"abcdefg".to_vec()));
    }

    #[test]
    fn nothing_behind_the_end_of_the_file_is_read() {
        assert_eq!(read_in_parts(vec![Ok(b"ab"), Ok(b"def")]), Ok(b"ab".to_vec()));
    }

    #[test]
    fn one_failed_part_fails_the_call() {
        assert_eq!(read_in_parts(vec![Ok(b"abc"), Err(Errno::EIO)]), Err(Errno::EIO));
    }
}
