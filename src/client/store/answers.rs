//! What the agent's answers become for the kernel, and what the client keeps of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use iofwd_mount::reply::{Answer as Answerable, Dirent};
use iofwd_mount::store::{
    Attr, Created, Entry, HandleId, Lock, LockRequest, NodeId, Opened, OpenedDirectory, Statfs,
};
use iofwd_mount::{Caller, DataReply, DirectoryReply, Errno, Reply, XattrReply};

use crate::client::Client;
use crate::client::holdings::Holdings;
use crate::client::pending::{Answered, Ask};
use crate::wire::answer::{Value, take_name};
use crate::wire::call::{Call, LockCall};

/// The value that a reply wants, out of what the agent may answer.
pub(super) trait Expected: Answerable + Sized + 'static {
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! expected {
    ($($type:ty: $pattern:pat => $value:expr),+ $(,)?) => {
        $(impl Expected for $type {
            fn from_value(value: Value) -> Option<Self> {
                if let $pattern = value { Some($value) } else { None }
            }
        })+
    };
}

expected! {
    (): Value::Nothing => (),
    Entry: Value::Entry(entry) => entry,
    Attr: Value::Attr(attr) => attr,
    Opened: Value::Opened(opened) => opened,
    OpenedDirectory: Value::OpenedDirectory(opened) => opened,
    Created: Value::Created(created) => created,
    u32: Value::Written(count) => count,
    u64: Value::Copied(count) => count,
    i64: Value::Position(position) => position,
    Statfs: Value::Statfs(state) => state,
    Lock: Value::Lock(lock) => lock,
}

/// What the agent answered, if it is what was expected.
pub(super) fn expect<T: Expected>(answered: &Answered) -> Result<T, Errno> {
    let (value, _) = answered.as_ref().map_err(|errno| *errno)?;
    T::from_value(*value).ok_or(Errno::EIO)
}

pub(super) fn bytes(answered: &Answered) -> Result<&[u8], Errno> {
    match answered {
        Ok((Value::Data, bytes)) => Ok(bytes),
        Ok(_) => Err(Errno::EIO),
        Err(errno) => Err(*errno),
    }
}

impl Client {
    pub(super) fn plain<T: Expected>(&self, caller: &Caller, call: Call<'_>, reply: Reply<T>) {
        self.ask(caller, Ask::of(call), move |answered| reply.send(expect(&answered)));
    }

    /// A call that leads to a node with that name.
    pub(super) fn entry(
        &self,
        caller: &Caller,
        (parent, name): (NodeId, &OsStr),
        call: Call<'_>,
        reply: Reply<Entry>,
    ) {
        let ask = Ask { call, payload: &[], room: VOUCHER_MOST };
        let (holdings, name) = (Arc::clone(&self.holdings), name.as_bytes().to_vec());
        self.ask(caller, ask, move |answered| {
            let entry = expect::<Entry>(&answered);
            if let (Ok(entry), Ok((_, voucher))) = (&entry, &answered) {
                holdings.told(entry.attr.node, voucher, (parent, &name));
            }
            reply.send(entry);
        });
    }

    /// A call that makes a file, with or without a name, and opens it.
    pub(super) fn made(
        &self,
        caller: &Caller,
        (parent, name): (NodeId, &OsStr),
        call: Call<'_>,
        reply: Reply<Created>,
    ) {
        let ask = Ask { call, payload: &[], room: VOUCHER_MOST };
        let (holdings, name) = (Arc::clone(&self.holdings), name.as_bytes().to_vec());
        self.ask(caller, ask, move |answered| {
            let created = expect::<Created>(&answered);
            if let (Ok(created), Ok((_, voucher))) = (&created, &answered) {
                let node = created.entry.attr.node;
                holdings.told(node, voucher, (parent, &name));
                holdings.opened(created.handle, node, voucher);
            }
            reply.send(created);
        });
    }

    /// A call that opens something.
    pub(super) fn opened<T: Expected>(
        &self,
        caller: &Caller,
        node: NodeId,
        call: Call<'_>,
        handle: impl FnOnce(&T) -> HandleId + Send + 'static,
        reply: Reply<T>,
    ) {
        let ask = Ask { call, payload: &[], room: VOUCHER_MOST };
        let holdings = Arc::clone(&self.holdings);
        self.ask(caller, ask, move |answered| {
            let opened = expect::<T>(&answered);
            if let (Ok(opened), Ok((_, voucher))) = (&opened, &answered) {
                holdings.opened(handle(opened), node, voucher);
            }
            reply.send(opened);
        });
    }

    pub(super) fn bytes(&self, caller: &Caller, call: Call<'_>, room: usize, reply: DataReply) {
        let ask = Ask { call, payload: &[], room };
        self.ask(caller, ask, move |answered| match bytes(&answered) {
            Ok(bytes) => reply.data(bytes),
            Err(errno) => reply.error(errno),
        });
    }

    pub(super) fn xattr(&self, caller: &Caller, call: Call<'_>, reply: XattrReply) {
        let ask = Ask { call, payload: &[], room: XATTR_MOST };
        self.ask(caller, ask, move |answered| reply.send(bytes(&answered)));
    }
}

pub(super) fn lock_call(request: &LockRequest) -> LockCall {
    LockCall {
        node: request.node,
        handle: request.handle,
        owner: request.owner.key,
        lock: request.lock,
        whole_file: request.whole_file,
        wait: request.wait,
    }
}

/// Hand a list of names on to the kernel.
pub(super) fn list(
    holdings: &Holdings,
    node: NodeId,
    answered: &Answered,
    mut reply: DirectoryReply,
) {
    let mut rest: &[u8] = match answered {
        Ok((Value::Names, names)) => names,
        Ok(_) => return reply.error(Errno::EIO),
        Err(errno) => return reply.error(*errno),
    };
    loop {
        match take_name(rest) {
            Ok(None) => return reply.send(),
            Ok(Some((listed, next))) if reply.fits(listed.name) => {
                let (inode, offset, kind) = (listed.inode, listed.offset, listed.kind);
                let dirent = Dirent { inode, offset, kind, name: listed.name };
                if let Some(entry) = &listed.entry {
                    holdings.told(entry.attr.node, listed.voucher, (node, listed.name));
                }
                reply.push(&dirent, listed.entry.as_ref());
                rest = next;
            }
            Ok(Some(_)) | Err(_) => return reply.error(Errno::EIO),
        }
    }
}

/// The longest voucher: a handle of a file system is no longer than 128 bytes.
pub(super) const VOUCHER_MOST: usize = 256;
/// The longest value, or list of names, of extended attributes.
const XATTR_MOST: usize = 64 << 10;
