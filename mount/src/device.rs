//! The kernel's device: one open descriptor of one FUSE connection, read by one thread and
//! answered from any.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use nix::libc;
use zerocopy::IntoBytes;

use crate::cache::{Cache, Freshness, Timeouts};
use crate::errno::Errno;
use crate::payload::{self, Memory, Spares};
use crate::protocol::answer;
use crate::protocol::question::WRITE_PREFIX;
use crate::running::Running;

/// What all descriptors of one connection share.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) cache: Cache,
    pub(crate) timeouts: Timeouts,
    pub(crate) freshness: Freshness,
    pub(crate) running: Arc<Running>,
}

impl Connection {
    pub(crate) fn new(cache: Cache) -> Connection {
        let (freshness, running) = (Freshness::default(), Arc::default());
        Connection { cache, timeouts: cache.timeouts(), freshness, running }
    }
}

/// One descriptor of the connection. An answer goes back through the one its question came from:
/// the kernel looks nowhere else.
#[derive(Debug)]
pub(crate) struct Device {
    file: OwnedFd,
    pub(crate) connection: Arc<Connection>,
}

impl Device {
    pub(crate) fn new(file: OwnedFd, connection: Arc<Connection>) -> Device {
        Device { file, connection }
    }

    /// Its descriptor, for somebody else.
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    /// Another descriptor of the same connection, with a queue of its own in the kernel.
    pub(crate) fn another(&self) -> io::Result<Device> {
        self.another_with(0)
    }

    /// And one that is only looked at, and never waited for.
    pub(crate) fn another_to_look_at(&self) -> io::Result<Device> {
        self.another_with(libc::O_NONBLOCK)
    }

    fn another_with(&self, flags: i32) -> io::Result<Device> {
        let mut options = File::options();
        let file = options.read(true).write(true).custom_flags(flags).open("/dev/fuse")?;
        let source = self.file.as_raw_fd() as u32;
        // SAFETY: the ioctl reads one u32 from the pointer, which outlives the call.
        unsafe { clone_device(file.as_raw_fd(), &source) }?;
        Ok(Device::new(file.into(), Arc::clone(&self.connection)))
    }

    /// Wait for a request: its length. `None` once the tree is unmounted.
    pub(crate) fn receive(&self, buffer: &mut Buffer) -> io::Result<Option<usize>> {
        loop {
            match nix::unistd::read(self.file.as_fd(), buffer.room()) {
                Ok(count) => return Ok(Some(count)),
                // ENOENT: the request was given up by its caller before it could be read.
                Err(nix::Error::ENOENT | nix::Error::EINTR | nix::Error::EAGAIN) => {}
                Err(nix::Error::ENODEV) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A request, if there is one: its length.
    pub(crate) fn glance(&self, buffer: &mut Buffer) -> Option<usize> {
        loop {
            match nix::unistd::read(self.file.as_fd(), buffer.room()) {
                Ok(count) => return Some(count),
                Err(nix::Error::ENOENT | nix::Error::EINTR) => {}
                // What is wrong is found by whoever waits for a request.
                Err(_) => return None,
            }
        }
    }

    /// Answer with a value: a fixed part and bytes behind it.
    pub(crate) fn answer(&self, unique: u64, fixed: &[u8], tail: &[IoSlice<'_>]) {
        let length = fixed.len() + tail.iter().map(|part| part.len()).sum::<usize>();
        self.send(unique, 0, length, fixed, tail);
    }

    /// Answer with an error.
    pub(crate) fn refuse(&self, unique: u64, errno: Errno) {
        self.send(unique, -errno.raw(), 0, &[], &[]);
    }

    fn send(&self, unique: u64, error: i32, length: usize, fixed: &[u8], tail: &[IoSlice<'_>]) {
        let header =
            answer::Header { length: (size_of::<answer::Header>() + length) as u32, error, unique };
        let header = IoSlice::new(header.as_bytes());
        // The system looks at every part, the empty ones too.
        let result = match (fixed, tail) {
            ([], []) => self.write(&[header]),
            (fixed, []) => self.write(&[header, IoSlice::new(fixed)]),
            ([], [one]) => self.write(&[header, *one]),
            (fixed, many) => {
                let mut parts = vec![header, IoSlice::new(fixed)];
                parts.extend_from_slice(many);
                self.write(&parts)
            }
        };
        match result {
            // ENOENT: the caller was interrupted or killed and waits no longer.
            Ok(()) | Err(nix::Error::ENOENT | nix::Error::ENODEV) => {}
            Err(error) => tracing::error!(unique, %error, "the kernel refused an answer"),
        }
    }

    fn write(&self, parts: &[IoSlice<'_>]) -> nix::Result<()> {
        nix::sys::uio::writev(self.file.as_fd(), parts).map(|_| ())
    }
}

nix::ioctl_read_bad!(clone_device_raw, nix::request_code_read!(229, 0, 4), u32);

/// # Safety
/// As any ioctl: `fd` must be a FUSE device that is not connected yet.
unsafe fn clone_device(fd: i32, source: &u32) -> nix::Result<()> {
    let pointer = std::ptr::from_ref(source).cast_mut();
    // SAFETY: the kernel only reads through the pointer, whatever the ioctl's name says.
    unsafe { clone_device_raw(fd, pointer) }.map(|_| ())
}

/// Room for one request, laid so that the payload of a write begins at a page: it can go to the
/// backing as it lies, past every cache if need be.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Arc<Memory>,
    start: usize,
}

impl Buffer {
    pub(crate) fn new(payload: usize, spares: &Arc<Spares>) -> Buffer {
        Buffer::on(spares.memory(payload + 3 * PAGE))
    }

    fn on(memory: Arc<Memory>) -> Buffer {
        let page = memory.bytes.as_ptr().align_offset(PAGE) + PAGE;
        Buffer { memory, start: page - WRITE_PREFIX }
    }

    /// Where the next request is put. What was there is lost, unless somebody keeps it.
    fn room(&mut self) -> &mut [u8] {
        if Arc::get_mut(&mut self.memory).is_none_or(|memory| memory.is_lost()) {
            *self = Buffer::on(self.memory.spares.memory(self.memory.bytes.len()));
        }
        let memory = Arc::get_mut(&mut self.memory).expect("nobody else knows new memory");
        &mut memory.bytes[self.start..]
    }

    pub(crate) fn filled(&self, count: usize) -> &[u8] {
        &self.memory.bytes[self.start..self.start + count]
    }

    /// Serve the request in it.
    pub(crate) fn offer<T>(&self, length: usize, serve: impl FnOnce() -> T) -> T {
        payload::offer(&self.memory, length, serve)
    }
}

const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_of_a_write_lies_on_a_page_and_fits() {
        let mut buffer = Buffer::new(1 << 20, &Arc::default());
        let room = buffer.room();
        assert_eq!((room.as_ptr() as usize + WRITE_PREFIX) % PAGE, 0);
        assert!(room.len() >= WRITE_PREFIX + (1 << 20));
    }

    #[test]
    fn what_is_kept_is_not_written_over() {
        let mut buffer = Buffer::new(1 << 20, &Arc::default());
        buffer.room().fill(1);
        let length = WRITE_PREFIX + (1 << 20);
        let kept = buffer.offer(length, || payload::keep(&buffer.filled(length)[WRITE_PREFIX..]));
        let kept = kept.expect("it is large");
        buffer.room().fill(2);
        assert!(kept.iter().all(|byte| *byte == 1));
        assert_eq!(kept.as_ptr() as usize % PAGE, 0);
    }

    #[test]
    fn what_was_lent_and_never_taken_back_is_not_written_over() {
        let mut buffer = Buffer::new(1 << 20, &Arc::default());
        let length = WRITE_PREFIX + (1 << 20);
        for is_taken_back in [true, false] {
            let place = buffer.room().as_ptr();
            let keep = || payload::keep(&buffer.filled(length)[WRITE_PREFIX..]);
            let kept = buffer.offer(length, keep).expect("it is large");
            kept.lend();
            if is_taken_back {
                kept.take_back();
            }
            drop(kept);
            assert_eq!(buffer.room().as_ptr() == place, is_taken_back);
        }
    }
}
