//! The promise to answer one call of a client, once, from whatever thread.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use iofwd_mount::caller::RequestKey;
use iofwd_mount::reply::{Answer as Answerable, Collect, Dirent};
use iofwd_mount::store::Entry;
use iofwd_mount::{DataReply, DirectoryReply, Errno, Reply, XattrReply};

use crate::link::{Link, Outgoing, Share};
use crate::wire::answer::{Answer, Listed, Value};
use crate::wire::frame;

use super::{Session, UnderWay};

/// Dropped without an answer it answers `EIO`, so that no caller waits for ever.
#[derive(Debug)]
pub(super) struct Responder {
    pub(super) session: Arc<Session>,
    pub(super) link: Arc<Link>,
    pub(super) id: u64,
    pub(super) share: Option<Share>,
    /// The most bytes that the payload of the answer may have.
    pub(super) room: usize,
    pub(super) answered: bool,
    /// It is a call that must not be done twice, and is passed on.
    pub(super) passed: Option<RequestKey>,
    pub(super) _under_way: UnderWay,
}

impl Responder {
    /// Answer with a value, and bytes behind it.
    pub(super) fn send(mut self, result: Result<(Value, &[IoSlice<'_>]), Errno>) {
        self.answered = true;
        let length = |parts: &[IoSlice<'_>]| parts.iter().map(|part| part.len()).sum::<usize>();
        let result = match result {
            Ok((_, payload)) if length(payload) > self.room => Err(Errno::ERANGE),
            result => result,
        };
        let counts = &self.session.counts;
        let counted = if result.is_ok() { &counts.done } else { &counts.failed };
        counted.fetch_add(1, Ordering::Relaxed);
        let (value, payload) = match result {
            Ok((value, payload)) => (Ok(value), payload),
            Err(errno) => (Err(errno.raw()), &[][..]),
        };
        let answer = Answer { id: self.id, result: value };
        let head = frame::encode(&answer, length(payload), 0);
        self.link.send(Outgoing { head: &head, payload, share: self.share.take() });
    }

    fn value(self, result: Result<Value, Errno>) {
        self.send(result.map(|value| (value, &[][..])));
    }

    /// A reply whose value is sent as it is.
    pub(super) fn reply<T: Answerable>(
        self,
        value: impl FnOnce(&Session, T) -> Value + Send + 'static,
    ) -> Reply<T> {
        Reply::call(move |result| {
            let result = result.map(|given| value(&self.session, given));
            self.value(result);
        })
    }

    /// A reply with nothing but success.
    pub(super) fn done(self) -> Reply<()> {
        self.reply(|_, ()| Value::Nothing)
    }

    /// A reply whose value comes with a voucher, if the client has room for it.
    pub(super) fn vouched<T: Answerable>(
        self,
        value: impl FnOnce(&Session, T) -> (Value, Box<[u8]>) + Send + 'static,
    ) -> Reply<T> {
        Reply::call(move |result| match result {
            Ok(given) => {
                let (value, voucher) = value(&self.session, given);
                let voucher = if voucher.len() <= self.room { &*voucher } else { &[] };
                self.send(Ok((value, &[IoSlice::new(voucher)])));
            }
            Err(errno) => self.send(Err(errno)),
        })
    }

    /// A reply with a node that the client then holds.
    pub(super) fn entry(self) -> Reply<Entry> {
        self.vouched(|session, entry: Entry| {
            let voucher = session.vouch(entry.attr.node);
            (Value::Entry(session.keep_node(entry)), voucher)
        })
    }

    /// A reply with bytes, sent from where they lie.
    pub(super) fn data(self) -> DataReply {
        DataReply::call(move |result| self.send(result.map(|parts| (Value::Data, parts))))
    }

    /// A reply with the value of an extended attribute, whole.
    pub(super) fn xattr(self) -> XattrReply {
        XattrReply::whole(self.data())
    }

    /// A reply with names.
    pub(super) fn names(self, room: usize, attributes: bool) -> DirectoryReply {
        let names = Names { responder: self, names: Vec::new() };
        DirectoryReply::collect(room, attributes, Box::new(names))
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let (Some(key), Some(passage)) = (self.passed, self.session.agent.passage()) {
            passage.end_once(key);
        }
        if !self.answered {
            let head = frame::encode(&Answer { id: self.id, result: Err(libc::EIO) }, 0, 0);
            self.link.send(Outgoing { head: &head, payload: &[], share: self.share.take() });
            self.session.counts.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A piece of a directory that is being put together.
struct Names {
    responder: Responder,
    names: Vec<u8>,
}

impl Collect for Names {
    fn push(&mut self, dirent: &Dirent<'_>, entry: Option<&Entry>) {
        let session = &self.responder.session;
        let voucher = entry.map(|entry| session.vouch(entry.attr.node));
        let listed = Listed {
            inode: dirent.inode,
            offset: dirent.offset,
            kind: dirent.kind,
            name: dirent.name,
            entry: entry.map(|entry| session.keep_node(*entry)),
            voucher: voucher.as_deref().unwrap_or_default(),
        };
        self.names = listed.append(std::mem::take(&mut self.names));
    }

    fn finish(self: Box<Self>, result: Result<(), Errno>) {
        let Names { responder, names } = *self;
        let payload = [IoSlice::new(&names)];
        responder.send(result.map(|()| (Value::Names, &payload[..])));
    }
}
