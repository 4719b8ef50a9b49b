//! Replies: a promise to answer one request of the kernel, once, from whatever thread.

mod directory;

use std::io::IoSlice;

use zerocopy::IntoBytes;

use crate::cache::Cache;
use crate::device::Connection;
use crate::errno::Errno;
use crate::line::{Line, with_scratch};
use crate::protocol::answer;
use crate::store::{
    Attr, Controlled, Created, Entry, Lock, Opened, OpenedDirectory, Statfs, Timestamp,
};

pub use directory::{Collect, DirectoryReply, Dirent};

/// A request that waits for its answer. Dropped without one it answers `EIO`, so that no caller
/// waits for ever.
#[derive(Debug)]
pub(crate) struct Pending {
    line: Line,
    unique: u64,
    answered: bool,
}

impl Pending {
    fn new(line: &Line, unique: u64) -> Pending {
        Pending { line: line.clone(), unique, answered: false }
    }

    fn answer(mut self, fixed: &[u8], tail: &[IoSlice<'_>]) {
        self.answered = true;
        self.line.answer(self.unique, fixed, tail);
    }

    fn fill(mut self, size: usize, fill: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) {
        self.answered = true;
        self.line.fill(self.unique, size, fill);
    }

    fn refuse(mut self, errno: Errno) {
        self.answered = true;
        self.line.refuse(self.unique, errno);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.answered {
            tracing::error!(unique = self.unique, "a request was dropped without an answer");
            self.line.refuse(self.unique, Errno::EIO);
        }
    }
}

/// Which of two forms of an answer the kernel expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The one that belongs to the type.
    Usual,
    /// The other: STATX for attributes, the short form for a count of bytes copied.
    Other,
}

/// The promise to answer a request with a `T` or an error.
#[derive(Debug)]
pub struct Reply<T> {
    to: Destination<T>,
}

enum Destination<T> {
    Kernel(Pending, Form),
    Call(Box<dyn FnOnce(Result<T, Errno>) + Send>),
}

impl<T> std::fmt::Debug for Destination<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Destination::Kernel(pending, form) => write!(f, "Kernel({pending:?}, {form:?})"),
            Destination::Call(_) => f.write_str("Call"),
        }
    }
}

impl<T: Answer> Reply<T> {
    pub(crate) fn kernel(line: &Line, unique: u64, form: Form) -> Reply<T> {
        Reply { to: Destination::Kernel(Pending::new(line, unique), form) }
    }

    /// A reply that calls a function instead of answering the kernel: for stores over stores, and
    /// for tests.
    pub fn call(function: impl FnOnce(Result<T, Errno>) + Send + 'static) -> Reply<T> {
        Reply { to: Destination::Call(Box::new(function)) }
    }

    /// Answer.
    pub fn send(self, result: Result<T, Errno>) {
        match (self.to, result) {
            (Destination::Kernel(pending, form), Ok(value)) => value.answer(pending, form),
            (Destination::Kernel(pending, _), Err(errno)) => pending.refuse(errno),
            (Destination::Call(function), result) => function(result),
        }
    }
}

/// What can be an answer.
pub trait Answer: Sized + sealed::Sealed {
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn answer(self, pending: Pending, form: Form);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! answer {
    ($type:ty, |$value:ident, $pending:ident, $form:ident| $body:expr) => {
        impl sealed::Sealed for $type {}
        impl Answer for $type {
            #[allow(private_interfaces)]
            fn answer(self, $pending: Pending, $form: Form) {
                let $value = self;
                $body
            }
        }
    };
}

answer!((), |_value, pending, _form| pending.answer(&[], &[]));
answer!(Entry, |entry, pending, _form| {
    let raw = answer::RawEntry::new(&entry.attr, pending.line.connection().timeouts);
    pending.answer(raw.as_bytes(), &[]);
});
answer!(Attr, |attr, pending, form| {
    let timeouts = pending.line.connection().timeouts;
    match form {
        Form::Usual => pending.answer(answer::RawAttrOut::new(&attr, timeouts).as_bytes(), &[]),
        Form::Other => pending.answer(answer::RawStatx::new(&attr, timeouts).as_bytes(), &[]),
    }
});
answer!(Opened, |opened, pending, _form| {
    let flags = open_flags(pending.line.connection(), &opened.attr);
    let raw = answer::RawOpen { handle: opened.handle.0, flags, backing: 0 };
    pending.answer(raw.as_bytes(), &[]);
});
answer!(OpenedDirectory, |opened, pending, _form| {
    let exclusive = pending.line.connection().cache == Cache::Exclusive;
    let flags = if exclusive { answer::OPEN_CACHE_DIR | answer::OPEN_KEEP_CACHE } else { 0 };
    let raw = answer::RawOpen { handle: opened.handle.0, flags, backing: 0 };
    pending.answer(raw.as_bytes(), &[]);
});
answer!(Created, |created, pending, _form| {
    let connection = pending.line.connection();
    let flags = open_flags(connection, &created.entry.attr);
    let raw = answer::RawCreate {
        entry: answer::RawEntry::new(&created.entry.attr, connection.timeouts),
        open: answer::RawOpen { handle: created.handle.0, flags, backing: 0 },
    };
    pending.answer(raw.as_bytes(), &[]);
});
answer!(u32, |size, pending, _form| {
    pending.answer(answer::RawWrite { size, padding: 0 }.as_bytes(), &[]);
});
answer!(u64, |count, pending, form| match form {
    Form::Usual => pending.answer(answer::RawOffset { offset: count }.as_bytes(), &[]),
    Form::Other => {
        let raw = answer::RawWrite { size: count as u32, padding: 0 };
        pending.answer(raw.as_bytes(), &[]);
    }
});
answer!(i64, |offset, pending, _form| {
    pending.answer(answer::RawOffset { offset: offset as u64 }.as_bytes(), &[]);
});
answer!(Statfs, |statfs, pending, _form| {
    pending.answer(answer::RawStatfs::new(&statfs).as_bytes(), &[]);
});
answer!(Lock, |lock, pending, _form| pending.answer(answer::RawLock::new(&lock).as_bytes(), &[]));
answer!(Controlled, |controlled, pending, _form| {
    let raw = answer::RawIoctl { result: controlled.result, flags: 0, in_iovs: 0, out_iovs: 0 };
    pending.answer(raw.as_bytes(), &[IoSlice::new(&controlled.data)]);
});

/// How a file is opened towards the kernel: the cache mode decides.
fn open_flags(connection: &Connection, attr: &Attr) -> u32 {
    match connection.cache {
        Cache::Coherent => answer::OPEN_DIRECT | answer::OPEN_PARALLEL_WRITES,
        Cache::CloseToOpen if connection.freshness.unchanged(attr, now()) => {
            answer::OPEN_KEEP_CACHE
        }
        Cache::CloseToOpen => 0,
        Cache::Exclusive => answer::OPEN_KEEP_CACHE,
    }
}

fn now() -> Timestamp {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    Timestamp { secs: since.as_secs() as i64, nanos: since.subsec_nanos() }
}

/// The promise to answer with bytes.
#[derive(Debug)]
pub struct DataReply {
    to: DataDestination,
}

/// Takes bytes in place of the kernel.
trait TakeData: FnOnce(Result<&[IoSlice<'_>], Errno>) + Send {}

impl<F: FnOnce(Result<&[IoSlice<'_>], Errno>) + Send> TakeData for F {}

enum DataDestination {
    Kernel(Pending),
    Call(Box<dyn TakeData>),
}

impl std::fmt::Debug for DataDestination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DataDestination::Kernel(pending) => write!(f, "Kernel({pending:?})"),
            DataDestination::Call(_) => f.write_str("Call"),
        }
    }
}

impl DataReply {
    pub(crate) fn kernel(line: &Line, unique: u64) -> DataReply {
        DataReply { to: DataDestination::Kernel(Pending::new(line, unique)) }
    }

    /// A reply that calls a function instead of answering the kernel, with the bytes as they lie.
    pub fn call(
        function: impl FnOnce(Result<&[IoSlice<'_>], Errno>) + Send + 'static,
    ) -> DataReply {
        DataReply { to: DataDestination::Call(Box::new(function)) }
    }

    /// Answer with the bytes as they lie: they are copied by nobody but the kernel.
    pub fn data(self, data: &[u8]) {
        match self.to {
            DataDestination::Kernel(pending) => pending.answer(&[], &[IoSlice::new(data)]),
            DataDestination::Call(function) => function(Ok(&[IoSlice::new(data)])),
        }
    }

    /// Answer with up to `size` bytes that `fill` provides: if possible, in the very place where the
    /// kernel takes them.
    pub fn fill(self, size: usize, fill: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) {
        match self.to {
            DataDestination::Kernel(pending) => pending.fill(size, fill),
            DataDestination::Call(function) => with_scratch(size, |buffer| match fill(buffer) {
                Ok(count) => function(Ok(&[IoSlice::new(&buffer[..count])])),
                Err(errno) => function(Err(errno)),
            }),
        }
    }

    /// Answer with bytes that lie in several places.
    pub fn gathered(self, parts: &[IoSlice<'_>]) {
        match self.to {
            DataDestination::Kernel(pending) => pending.answer(&[], parts),
            DataDestination::Call(function) => function(Ok(parts)),
        }
    }

    /// Answer with an error.
    pub fn error(self, errno: Errno) {
        match self.to {
            DataDestination::Kernel(pending) => pending.refuse(errno),
            DataDestination::Call(function) => function(Err(errno)),
        }
    }
}

/// The promise to answer with the value of an extended attribute, or a list of names.
#[derive(Debug)]
pub struct XattrReply {
    reply: DataReply,
    room: usize,
}

impl XattrReply {
    pub(crate) fn new(reply: DataReply, room: u32) -> XattrReply {
        XattrReply { reply, room: room as usize }
    }

    /// A reply that wants the whole value, however long it is.
    pub fn whole(reply: DataReply) -> XattrReply {
        XattrReply { reply, room: usize::MAX }
    }

    /// Answer as the caller asked: with the size alone, with the value, or that it does not fit.
    pub fn send(self, value: Result<&[u8], Errno>) {
        match value {
            Err(errno) => self.reply.error(errno),
            Ok(value) if self.room == 0 => {
                let raw = answer::RawXattrSize { size: value.len() as u32, padding: 0 };
                self.reply.data(raw.as_bytes());
            }
            Ok(value) if value.len() > self.room => self.reply.error(Errno::ERANGE),
            Ok(value) => self.reply.data(value),
        }
    }
}
