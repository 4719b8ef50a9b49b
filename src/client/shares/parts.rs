//! One answer out of several: when the last of those who were asked has answered.

use std::io::IoSlice;
use std::sync::{Arc, Mutex, PoisonError};

use iofwd_mount::{DataReply, Errno, Reply};

/// Something to be done when the last copy of it is gone.
pub(super) struct Finish(Option<Box<dyn FnOnce() + Send>>);

impl Finish {
    pub(super) fn new(done: impl FnOnce() + Send + 'static) -> Arc<Mutex<Finish>> {
        Arc::new(Mutex::new(Finish(Some(Box::new(done)))))
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done();
        }
    }
}

/// What each of several came to, and what is done with it at last.
struct Parts<T, R> {
    parts: Mutex<Vec<Option<Result<T, Errno>>>>,
    then: Mutex<Option<R>>,
    finish: fn(Vec<Result<T, Errno>>, R),
}

impl<T, R> Parts<T, R> {
    fn new(count: usize, reply: R, finish: fn(Vec<Result<T, Errno>>, R)) -> Arc<Self> {
        let parts = Mutex::new((0..count).map(|_| None).collect());
        Arc::new(Parts { parts, then: Mutex::new(Some(reply)), finish })
    }

    fn set(&self, number: usize, part: Result<T, Errno>) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = parts.get_mut(number) {
            *slot = Some(part);
        }
    }
}

impl<T, R> Drop for Parts<T, R> {
    fn drop(&mut self) {
        let parts = std::mem::take(self.parts.get_mut().unwrap_or_else(PoisonError::into_inner));
        let then = self.then.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(then) = then {
            (self.finish)(
                parts.into_iter().map(|part| part.unwrap_or(Err(Errno::EIO))).collect(),
                then,
            );
        }
    }
}

/// A read in pieces.
pub(super) struct Gathered(Arc<Parts<(Vec<u8>, usize), DataReply>>);

impl Gathered {
    pub(super) fn new(count: usize, reply: DataReply) -> Gathered {
        Gathered(Parts::new(count, reply, gather))
    }

    /// Where the bytes of one piece go.
    pub(super) fn part(&self, number: usize, length: usize) -> DataReply {
        let parts = Arc::clone(&self.0);
        DataReply::call(move |bytes| {
            parts.set(number, bytes.map(|slices| (joined(slices), length)));
        })
    }
}

fn joined(slices: &[IoSlice<'_>]) -> Vec<u8> {
    slices.iter().flat_map(|slice| slice.iter().copied()).collect()
}

/// Pieces up to the first that is short: there the file ends.
fn gather(parts: Vec<Result<(Vec<u8>, usize), Errno>>, reply: DataReply) {
    let mut bytes = Vec::new();
    for part in parts {
        let (part, length) = match part {
            Ok(part) => part,
            Err(errno) => return reply.error(errno),
        };
        let is_short = part.len() < length;
        bytes.push(part);
        if is_short {
            break;
        }
    }
    let slices: Vec<IoSlice<'_>> = bytes.iter().map(|part| IoSlice::new(part)).collect();
    reply.gathered(&slices);
}

/// A write in pieces.
pub(super) struct Summed(Arc<Parts<(u32, usize), LateReply>>);

/// What a write is answered with, and whether nobody waits for it.
type LateReply = (Reply<u32>, bool);

impl Summed {
    /// One that nobody waits for is done as a whole or has failed.
    pub(super) fn new(count: usize, late: bool, reply: Reply<u32>) -> Summed {
        Summed(Parts::new(count, (reply, late), sum))
    }

    /// Where it is told what came of one piece.
    pub(super) fn part(&self, number: usize, length: usize) -> Reply<u32> {
        let parts = Arc::clone(&self.0);
        Reply::call(move |written: Result<u32, Errno>| {
            parts.set(number, written.map(|count| (count, length)));
        })
    }
}

/// What was written in a row from the beginning on; an error if that is nothing.
fn sum(parts: Vec<Result<(u32, usize), Errno>>, (reply, late): LateReply) {
    let mut sum = 0;
    for part in parts {
        match part {
            Ok((count, length)) => {
                sum += count;
                if (count as usize) < length {
                    break;
                }
            }
            Err(errno) if sum == 0 || late => return reply.send(Err(errno)),
            Err(_) => break,
        }
    }
    reply.send(Ok(sum));
}

/// The same asked of several.
pub(super) struct All(Arc<AllOf>);

struct AllOf {
    failed: Mutex<Option<Errno>>,
    reply: Mutex<Option<Reply<()>>>,
}

impl All {
    pub(super) fn new(reply: Reply<()>) -> All {
        All(Arc::new(AllOf { failed: Mutex::default(), reply: Mutex::new(Some(reply)) }))
    }

    /// Where one of them answers.
    pub(super) fn one(&self) -> Reply<()> {
        let all = Arc::clone(&self.0);
        Reply::call(move |done: Result<(), Errno>| {
            if let Err(errno) = done {
                let mut failed = all.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(errno);
            }
        })
    }
}

impl Drop for AllOf {
    fn drop(&mut self) {
        let failed = self.failed.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(reply) = self.reply.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            reply.send(failed.map_or(Ok(()), Err));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn read(parts: [Result<&'static [u8], Errno>; 3]) -> Result<Vec<u8>, Errno> {
        let (sender, receiver) = mpsc::channel();
        let reply = DataReply::call(move |bytes| {
            let _ = sender.send(bytes.map(joined));
        });
        let gathered = Gathered::new(3, reply);
        let replies: Vec<_> = (0..3).map(|number| gathered.part(number, 2)).collect();
        drop(gathered);
        for (reply, part) in replies.into_iter().zip(parts).rev() {
            match part {
                Ok(bytes) => reply.data(bytes),
                Err(errno) => reply.error(errno),
            }
        }
        receiver.try_recv().expect("all have answered")
    }

    #[test]
    fn pieces_of_a_read_end_where_one_is_short() {
        assert_eq!(read([Ok(b"ab"), Ok(b"cd"), Ok(b"e")]).unwrap(), b"abcde");
        assert_eq!(read([Ok(b"ab"), Ok(b"c"), Ok(b"")]).unwrap(), b"abc");
        assert_eq!(read([Ok(b"ab"), Err(Errno::EBADF), Ok(b"")]), Err(Errno::EBADF));
    }

    fn written(parts: [Result<u32, Errno>; 3], late: bool) -> Result<u32, Errno> {
        let (sender, receiver) = mpsc::channel();
        let reply = Reply::call(move |count| {
            let _ = sender.send(count);
        });
        let summed = Summed::new(3, late, reply);
        let replies: Vec<_> = (0..3).map(|number| summed.part(number, 2)).collect();
        drop(summed);
        replies.into_iter().zip(parts).for_each(|(reply, part)| reply.send(part));
        receiver.try_recv().expect("all have answered")
    }

    #[test]
    fn a_write_is_as_long_as_what_was_written_in_a_row() {
        assert_eq!(written([Ok(2), Ok(2), Ok(2)], false), Ok(6));
        assert_eq!(written([Ok(2), Ok(1), Ok(2)], false), Ok(3));
        assert_eq!(written([Ok(2), Err(Errno::EIO), Ok(2)], false), Ok(2));
        assert_eq!(written([Ok(2), Err(Errno::EIO), Ok(2)], true), Err(Errno::EIO));
        assert_eq!(written([Err(Errno::EBADF), Ok(2), Ok(2)], false), Err(Errno::EBADF));
    }

    #[test]
    fn whoever_fails_first_is_told_of_when_all_have_answered() {
        let (sender, receiver) = mpsc::channel();
        let all = All::new(Reply::call(move |done: Result<(), Errno>| {
            let _ = sender.send(done);
        }));
        let [one, other] = [all.one(), all.one()];
        drop(all);
        other.send(Err(Errno::EBADF));
        assert!(receiver.try_recv().is_err(), "one has not answered yet");
        one.send(Ok(()));
        assert_eq!(receiver.try_recv(), Ok(Err(Errno::EBADF)));
    }
}
