//! A small file system in memory that answers questions for layouts with chosen bytes.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, FopenFlags,
    Generation, INodeNo, IoctlFlags, LockOwner, OpenFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyEntry, ReplyIoctl, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

/// What is answered: attributes by their names, and control operations by their numbers. Of several
/// answers to one operation each is given in its turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    pub(super) attributes: HashMap<&'static str, Vec<u8>>,
    pub(super) controls: HashMap<u32, Vec<Vec<u8>>>,
}

#[derive(Debug, Default)]
struct State {
    answers: Answers,
    /// How often each attribute was asked for and each operation was made.
    asked: HashMap<String, usize>,
    files: Vec<(OsString, Vec<u8>, SystemTime)>,
}

/// The file system, as the kernel sees it.
pub(super) struct Filesystem(Arc<Mutex<State>>);

/// The mounted file system; gone with this.
pub(super) struct Served {
    state: Arc<Mutex<State>>,
    _session: BackgroundSession,
}

impl Served {
    /// Answer otherwise from now on.
    pub(super) fn answer(&self, attribute: &'static str, value: Vec<u8>) {
        self.state.lock().unwrap().answers.attributes.insert(attribute, value);
    }

    /// How often this attribute was asked for.
    pub(super) fn asked(&self, attribute: &str) -> usize {
        self.state.lock().unwrap().asked.get(attribute).copied().unwrap_or(0)
    }
}

impl Filesystem {
    pub(super) fn serve(answers: Answers, point: &Path) -> Served {
        let state = Arc::new(Mutex::new(State { answers, ..State::default() }));
        let filesystem = Filesystem(Arc::clone(&state));
        let session = fuser::spawn_mount(filesystem, point, &Config::default()).unwrap();
        Served { state, _session: session }
    }
}

impl State {
    fn attr(&self, number: u64) -> Option<FileAttr> {
        let (size, kind, perm, changed) = match number {
            1 => (0, FileType::Directory, 0o755, SystemTime::UNIX_EPOCH),
            _ => {
                let (_, bytes, changed) = self.files.get(number as usize - 2)?;
                (bytes.len() as u64, FileType::RegularFile, 0o644, *changed)
            }
        };
        Some(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size.div_ceil(512),
            atime: changed,
            mtime: changed,
            ctime: changed,
            crtime: changed,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn find(&self, name: &OsStr) -> Option<FileAttr> {
        let place = self.files.iter().position(|(other, ..)| other == name)?;
        self.attr(place as u64 + 2)
    }

    fn change(&mut self, node: INodeNo, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some((_, bytes, changed)) = self.files.get_mut(node.0 as usize - 2) {
            change(bytes);
            *changed = SystemTime::now();
        }
    }
}

impl fuser::Filesystem for Filesystem {
    fn lookup(&self, _req: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.0.lock().unwrap().find(name) {
            Some(attr) => reply.entry(&Duration::ZERO, &attr, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.0.lock().unwrap().attr(ino.0) {
            Some(attr) => reply.attr(&Duration::ZERO, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.0.lock().unwrap();
        state.change(ino, |bytes| bytes.resize(size.unwrap_or(bytes.len() as u64) as usize, 0));
        match state.attr(ino.0) {
            Some(attr) => reply.attr(&Duration::ZERO, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn create(
        &self,
        _req: &Request,
        _parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let mut state = self.0.lock().unwrap();
        state.files.push((name.into(), Vec::new(), SystemTime::now()));
        let attr = state.find(name).unwrap();
        let flags = FopenFlags::FOPEN_DIRECT_IO;
        reply.created(&Duration::ZERO, &attr, Generation(0), FileHandle(0), flags);
    }

    fn open(&self, _req: &Request, _ino: INodeNo, _flags: OpenFlags, reply: fuser::ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let state = self.0.lock().unwrap();
        let bytes = &state.files[ino.0 as usize - 2].1;
        let start = bytes.len().min(offset as usize);
        let end = bytes.len().min(start + size as usize);
        reply.data(&bytes[start..end]);
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (start, end) = (offset as usize, offset as usize + data.len());
        self.0.lock().unwrap().change(ino, |bytes| {
            bytes.resize(bytes.len().max(end), 0);
            bytes[start..end].copy_from_slice(data);
        });
        reply.written(data.len() as u32);
    }

    fn getxattr(&self, _req: &Request, _ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let mut state = self.0.lock().unwrap();
        let name = name.to_string_lossy().into_owned();
        *state.asked.entry(name.clone()).or_default() += 1;
        match state.answers.attributes.get(name.as_str()) {
            None => reply.error(Errno::ENODATA),
            Some(value) if size == 0 => reply.size(value.len() as u32),
            Some(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
            Some(value) => reply.data(value),
        }
    }

    fn ioctl(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _flags: IoctlFlags,
        command: u32,
        _data: &[u8],
        _room: u32,
        reply: ReplyIoctl,
    ) {
        // The kernel does not hand on what a question has in it whose number says it has nothing.
        let mut state = self.0.lock().unwrap();
        let turn = state.asked.entry(format!("{command:#x}")).or_default();
        let number = *turn;
        *turn += 1;
        match state.answers.controls.get(&command) {
            Some(answers) => reply.ioctl(0, &answers[number % answers.len()]),
            None => reply.error(Errno::ENOTTY),
        }
    }
}
