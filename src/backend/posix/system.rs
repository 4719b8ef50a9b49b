//! System calls, one function each: the arguments we use, the errno that comes back.
//!
//! What the `nix` crate offers in the form we need is used directly elsewhere; here stand the calls
//! it lacks, or offers only for paths.

use std::ffi::{CStr, CString, OsStr};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use iofwd_mount::Errno;

/// A name or path for a system call; one with a zero byte in it cannot exist.
pub(super) fn c_string(name: &OsStr) -> Result<CString, Errno> {
    CString::new(name.as_bytes()).map_err(|_| Errno::EINVAL)
}

/// One component of a path: what the kernel sends, and nothing that leads elsewhere.
pub(super) fn component(name: &OsStr) -> Result<CString, Errno> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.contains(&b'/') {
        return Err(Errno::EINVAL);
    }
    c_string(name)
}

/// The path under which this process finds one of its own descriptors, whatever it names.
pub(super) fn magic_path(fd: &impl AsFd) -> CString {
    CString::new(format!("{MAGIC}{}", fd.as_fd().as_raw_fd())).expect("a number has no zero byte")
}

const MAGIC: &str = "/proc/self/fd/";

fn check(result: i32) -> Result<i32, Errno> {
    if result < 0 { Err(Errno::last()) } else { Ok(result) }
}

fn check_size(result: isize) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| Errno::last())
}

fn owned(result: i32) -> Result<OwnedFd, Errno> {
    let fd = check(result)?;
    // SAFETY: the call has just returned this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A descriptor that names a directory, by path, before anything is served.
pub(super) fn open_directory_path(path: &Path) -> Result<OwnedFd, Errno> {
    let path = c_string(path.as_os_str())?;
    // SAFETY: the path is a valid C string.
    owned(unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) })
}

/// Open a name in a directory. Symbolic links are never followed.
pub(super) fn openat(
    dir: &impl AsFd,
    name: &CStr,
    flags: i32,
    mode: u32,
) -> Result<OwnedFd, Errno> {
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the descriptor is open and the name is a valid C string.
    owned(unsafe { libc::openat(dir.as_fd().as_raw_fd(), name.as_ptr(), flags, mode) })
}

/// Open anew what a descriptor names.
pub(super) fn reopen(fd: &impl AsFd, flags: i32) -> Result<OwnedFd, Errno> {
    let flags = (flags & !libc::O_NOFOLLOW) | libc::O_CLOEXEC;
    let path = magic_path(fd);
    let (dir, path) = match own_descriptors() {
        Some(dir) => (dir.as_raw_fd(), &path.as_c_str()[MAGIC.len()..]),
        None => (libc::AT_FDCWD, path.as_c_str()),
    };
    // SAFETY: the descriptor is open and the path is a valid C string.
    owned(unsafe { libc::openat(dir, path.as_ptr(), flags) })
}

/// The directory of this process's descriptors, so that the way there need not be walked each time.
/// Opened when it is first needed; from then on the process stays the one that it is.
fn own_descriptors() -> Option<&'static OwnedFd> {
    static DIRECTORY: OnceLock<Option<OwnedFd>> = OnceLock::new();
    DIRECTORY.get_or_init(|| open_directory_path(Path::new(MAGIC)).ok()).as_ref()
}

/// Open a file without a name in a directory.
pub(super) fn open_tmpfile(dir: &impl AsFd, flags: i32, mode: u32) -> Result<OwnedFd, Errno> {
    let path = magic_path(dir);
    let flags = (flags & !libc::O_NOFOLLOW) | libc::O_TMPFILE | libc::O_CLOEXEC;
    // SAFETY: the path is a valid C string.
    owned(unsafe { libc::open(path.as_ptr(), flags, mode) })
}

/// Attributes of a name in a directory, or of the directory's descriptor itself for an empty name.
pub(super) fn statx(dir: &impl AsFd, name: &CStr) -> Result<libc::statx, Errno> {
    let flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH | libc::AT_STATX_SYNC_AS_STAT;
    let mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
    let mut out = MaybeUninit::<libc::statx>::zeroed();
    let fd = dir.as_fd().as_raw_fd();
    // SAFETY: the kernel fills the structure, which is large enough; all-zero bytes are valid.
    check(unsafe { libc::statx(fd, name.as_ptr(), flags, mask, out.as_mut_ptr()) })?;
    // SAFETY: initialised above, to zero and then by the kernel.
    Ok(unsafe { out.assume_init() })
}

pub(super) fn mknodat(dir: &impl AsFd, name: &CStr, mode: u32, device: u64) -> Result<(), Errno> {
    // SAFETY: the descriptor is open and the name is a valid C string.
    check(unsafe { libc::mknodat(dir.as_fd().as_raw_fd(), name.as_ptr(), mode, device) }).map(drop)
}

pub(super) fn mkdirat(dir: &impl AsFd, name: &CStr, mode: u32) -> Result<(), Errno> {
    // SAFETY: the descriptor is open and the name is a valid C string.
    check(unsafe { libc::mkdirat(dir.as_fd().as_raw_fd(), name.as_ptr(), mode) }).map(drop)
}

pub(super) fn unlinkat(dir: &impl AsFd, name: &CStr, flags: i32) -> Result<(), Errno> {
    // SAFETY: the descriptor is open and the name is a valid C string.
    check(unsafe { libc::unlinkat(dir.as_fd().as_raw_fd(), name.as_ptr(), flags) }).map(drop)
}

pub(super) fn symlinkat(target: &CStr, dir: &impl AsFd, name: &CStr) -> Result<(), Errno> {
    // SAFETY: the descriptor is open and both are valid C strings.
    let result =
        unsafe { libc::symlinkat(target.as_ptr(), dir.as_fd().as_raw_fd(), name.as_ptr()) };
    check(result).map(drop)
}

/// Give what a descriptor names another name.
pub(super) fn linkat(fd: &impl AsFd, dir: &impl AsFd, name: &CStr) -> Result<(), Errno> {
    let source = magic_path(fd);
    let dir = dir.as_fd().as_raw_fd();
    let flags = libc::AT_SYMLINK_FOLLOW;
    // SAFETY: the descriptor is open and both are valid C strings.
    let result =
        unsafe { libc::linkat(libc::AT_FDCWD, source.as_ptr(), dir, name.as_ptr(), flags) };
    check(result).map(drop)
}

pub(super) fn renameat2(
    from: (&impl AsFd, &CStr),
    to: (&impl AsFd, &CStr),
    flags: u32,
) -> Result<(), Errno> {
    let (from_dir, to_dir) = (from.0.as_fd().as_raw_fd(), to.0.as_fd().as_raw_fd());
    // SAFETY: the descriptors are open and both names are valid C strings.
    let result = unsafe {
        libc::syscall(libc::SYS_renameat2, from_dir, from.1.as_ptr(), to_dir, to.1.as_ptr(), flags)
    };
    check(result as i32).map(drop)
}

/// The target of the symbolic link that a descriptor names.
pub(super) fn readlink(fd: &impl AsFd) -> Result<Vec<u8>, Errno> {
    let mut target = vec![0u8; libc::PATH_MAX as usize];
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the buffer is as long as said; the empty name means the descriptor itself.
    let result =
        unsafe { libc::readlinkat(fd, c"".as_ptr(), target.as_mut_ptr().cast(), target.len()) };
    target.truncate(check_size(result)?);
    Ok(target)
}

pub(super) fn chmod(fd: &impl AsFd, mode: u32) -> Result<(), Errno> {
    let path = magic_path(fd);
    // SAFETY: the path is a valid C string.
    check(unsafe { libc::chmod(path.as_ptr(), mode) }).map(drop)
}

pub(super) fn chown(fd: &impl AsFd, uid: u32, gid: u32) -> Result<(), Errno> {
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the empty name means the descriptor itself.
    check(unsafe { libc::fchownat(fd, c"".as_ptr(), uid, gid, libc::AT_EMPTY_PATH) }).map(drop)
}

pub(super) fn truncate(fd: &impl AsFd, size: i64) -> Result<(), Errno> {
    let path = magic_path(fd);
    // SAFETY: the path is a valid C string.
    check(unsafe { libc::truncate(path.as_ptr(), size) }).map(drop)
}

pub(super) fn ftruncate(fd: &impl AsFd, size: i64) -> Result<(), Errno> {
    // SAFETY: the descriptor is open.
    check(unsafe { libc::ftruncate(fd.as_fd().as_raw_fd(), size) }).map(drop)
}

pub(super) fn utimens(fd: &impl AsFd, times: &[libc::timespec; 2]) -> Result<(), Errno> {
    let raw = fd.as_fd().as_raw_fd();
    // SAFETY: two time stamps, and the empty name means the descriptor itself.
    let result = unsafe { libc::utimensat(raw, c"".as_ptr(), times.as_ptr(), libc::AT_EMPTY_PATH) };
    match check(result) {
        // Kernels before 5.8 know the empty name elsewhere but not here.
        Err(errno) if errno == Errno::EINVAL => {
            let path = magic_path(fd);
            // SAFETY: two time stamps and a valid C string.
            check(unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), times.as_ptr(), 0) })
                .map(drop)
        }
        result => result.map(drop),
    }
}

/// Whether the identity this thread acts under may access what the descriptor names.
pub(super) fn access(fd: &impl AsFd, mask: i32) -> Result<(), Errno> {
    let flags = libc::AT_EACCESS | libc::AT_EMPTY_PATH;
    let raw = fd.as_fd().as_raw_fd();
    // SAFETY: the empty name means the descriptor itself.
    let result = unsafe { libc::syscall(libc::SYS_faccessat2, raw, c"".as_ptr(), mask, flags) };
    check(result as i32).map(drop)
}

pub(super) fn statvfs(fd: &impl AsFd) -> Result<libc::statvfs, Errno> {
    let mut out = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the kernel fills the structure; all-zero bytes are valid.
    check(unsafe { libc::fstatvfs(fd.as_fd().as_raw_fd(), out.as_mut_ptr()) })?;
    // SAFETY: initialised above.
    Ok(unsafe { out.assume_init() })
}

/// What the file system of an open directory is called, whatever device it is mounted from.
pub(super) fn file_system_uuid(fd: &impl AsFd) -> Result<[u8; 16], Errno> {
    let mut answer = [0; 17];
    ioctl(fd, GET_UUID, &mut answer)?;
    match answer {
        [16, uuid @ ..] => Ok(uuid),
        _ => Err(Errno::EINVAL),
    }
}

/// `FS_IOC_GETFSUUID`: a length, and up to sixteen bytes.
const GET_UUID: u32 = 0x8011_1500;

pub(super) fn setxattr(fd: &impl AsFd, name: &CStr, value: &[u8], flags: i32) -> Result<(), Errno> {
    let path = magic_path(fd);
    let (data, length) = (value.as_ptr().cast(), value.len());
    // SAFETY: valid C strings, and a value as long as said.
    check(unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), data, length, flags) }).map(drop)
}

pub(super) fn getxattr(fd: &impl AsFd, name: &CStr) -> Result<Vec<u8>, Errno> {
    let path = magic_path(fd);
    grow(|buffer| {
        let (data, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: valid C strings, and a buffer as long as said.
        check_size(unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), data, length) })
    })
}

pub(super) fn listxattr(fd: &impl AsFd) -> Result<Vec<u8>, Errno> {
    let path = magic_path(fd);
    grow(|buffer| {
        let (data, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: a valid C string, and a buffer as long as said.
        check_size(unsafe { libc::listxattr(path.as_ptr(), data, length) })
    })
}

/// Ask with a small buffer first, and once more with the largest that can be needed.
fn grow(ask: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    for size in [256, 65536] {
        let mut buffer = vec![0u8; size];
        match ask(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(errno) if errno == Errno::ERANGE && size == 256 => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::ERANGE)
}

pub(super) fn removexattr(fd: &impl AsFd, name: &CStr) -> Result<(), Errno> {
    let path = magic_path(fd);
    // SAFETY: both are valid C strings.
    check(unsafe { libc::removexattr(path.as_ptr(), name.as_ptr()) }).map(drop)
}

/// Read at an offset into several buffers; stops short only at the end of the file.
pub(super) fn preadv(fd: &impl AsFd, into: &mut [IoSliceMut<'_>], at: i64) -> Result<usize, Errno> {
    let count = into.len() as i32;
    let raw = fd.as_fd().as_raw_fd();
    if let [only] = into {
        // SAFETY: the buffer is writable. A list of one costs the system more than one.
        let mut read = || unsafe { libc::pread(raw, only.as_mut_ptr().cast(), only.len(), at) };
        return retry(|| check_size(read()));
    }
    retry(|| {
        // SAFETY: `IoSliceMut` has the layout of `iovec`, and its buffers are writable.
        check_size(unsafe { libc::preadv(raw, into.as_mut_ptr().cast(), count, at) })
    })
}

/// Write at an offset, or with `RWF_APPEND` at the end of the file.
pub(super) fn pwritev2(
    fd: &impl AsFd,
    from: &[IoSlice<'_>],
    at: i64,
    flags: i32,
) -> Result<usize, Errno> {
    let (count, raw) = (from.len() as i32, fd.as_fd().as_raw_fd());
    if let ([only], 0) = (from, flags) {
        // SAFETY: the buffer is readable.
        let write = || unsafe { libc::pwrite(raw, only.as_ptr().cast(), only.len(), at) };
        return retry(|| check_size(write()));
    }
    retry(|| {
        // SAFETY: `IoSlice` has the layout of `iovec`, and its buffers are readable.
        check_size(unsafe { libc::pwritev2(raw, from.as_ptr().cast(), count, at, flags) })
    })
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(errno) if errno == Errno::EINTR => {}
            result => return result,
        }
    }
}

/// The flags that a descriptor was opened with.
pub(super) fn open_flags(fd: &impl AsFd) -> Result<i32, Errno> {
    // SAFETY: the descriptor is open.
    check(unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_GETFL) })
}

pub(super) fn fsync(fd: &impl AsFd, data_only: bool) -> Result<(), Errno> {
    let raw = fd.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open.
    check(unsafe { if data_only { libc::fdatasync(raw) } else { libc::fsync(raw) } }).map(drop)
}

pub(super) fn syncfs(fd: &impl AsFd) -> Result<(), Errno> {
    // SAFETY: the descriptor is open.
    check(unsafe { libc::syncfs(fd.as_fd().as_raw_fd()) }).map(drop)
}

pub(super) fn fallocate(fd: &impl AsFd, mode: i32, at: i64, length: i64) -> Result<(), Errno> {
    // SAFETY: the descriptor is open.
    check(unsafe { libc::fallocate(fd.as_fd().as_raw_fd(), mode, at, length) }).map(drop)
}

pub(super) fn lseek(fd: &impl AsFd, offset: i64, whence: i32) -> Result<i64, Errno> {
    // SAFETY: the descriptor is open.
    let result = unsafe { libc::lseek(fd.as_fd().as_raw_fd(), offset, whence) };
    if result < 0 { Err(Errno::last()) } else { Ok(result) }
}

pub(super) fn copy_file_range(
    source: (&impl AsFd, i64),
    target: (&impl AsFd, i64),
    length: usize,
) -> Result<usize, Errno> {
    let (mut from, mut to) = (source.1, target.1);
    let (source, target) = (source.0.as_fd().as_raw_fd(), target.0.as_fd().as_raw_fd());
    // SAFETY: both descriptors are open and both offsets outlive the call.
    check_size(unsafe {
        libc::copy_file_range(source, &raw mut from, target, &raw mut to, length, 0)
    })
}

/// Read entries of a directory as the kernel lays them.
pub(super) fn getdents(fd: &impl AsFd, into: &mut [u8]) -> Result<usize, Errno> {
    let (raw, data, length) = (fd.as_fd().as_raw_fd(), into.as_mut_ptr(), into.len());
    // SAFETY: the buffer is as long as said.
    let result = unsafe { libc::syscall(libc::SYS_getdents64, raw, data, length) };
    check_size(result as isize)
}

/// A control operation that reads or writes at most `argument.len()` bytes.
pub(super) fn ioctl(fd: &impl AsFd, command: u32, argument: &mut [u8]) -> Result<i32, Errno> {
    let raw = fd.as_fd().as_raw_fd();
    // SAFETY: callers pass only commands whose argument fits the buffer (see `file.rs`, and above).
    check(unsafe { libc::ioctl(raw, libc::c_ulong::from(command), argument.as_mut_ptr()) })
}

pub(super) fn flock(fd: &impl AsFd, operation: i32) -> Result<(), Errno> {
    // SAFETY: the descriptor is open.
    check(unsafe { libc::flock(fd.as_fd().as_raw_fd(), operation) }).map(drop)
}

/// Ask for, take or release a lock that belongs to the open file description.
pub(super) fn ofd_lock(fd: &impl AsFd, command: i32, lock: &mut libc::flock) -> Result<(), Errno> {
    let raw = fd.as_fd().as_raw_fd();
    // SAFETY: the structure outlives the call.
    check(unsafe { libc::fcntl(raw, command, std::ptr::from_mut(lock)) }).map(drop)
}

/// What `name_to_handle_at` tells: enough to find the inode again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileHandle {
    pub(super) kind: i32,
    pub(super) bytes: Vec<u8>,
}

#[repr(C, align(8))]
struct RawHandle {
    length: u32,
    kind: i32,
    bytes: [u8; 128],
}

pub(super) fn name_to_handle(fd: &impl AsFd) -> Result<FileHandle, Errno> {
    let mut raw = RawHandle { length: 128, kind: 0, bytes: [0; 128] };
    let mut mount_id = 0i32;
    let number = fd.as_fd().as_raw_fd();
    // SAFETY: the structure is as long as it says, and both outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            number,
            c"".as_ptr(),
            &raw mut raw,
            &raw mut mount_id,
            libc::AT_EMPTY_PATH,
        )
    };
    check(result as i32)?;
    Ok(FileHandle { kind: raw.kind, bytes: raw.bytes[..raw.length as usize].to_vec() })
}

/// Find an inode again, on the file system of `mount`; only a privileged process may.
pub(super) fn open_by_handle(mount: &impl AsFd, handle: &FileHandle) -> Result<OwnedFd, Errno> {
    if handle.bytes.len() > 128 {
        return Err(Errno::EINVAL);
    }
    let mut raw =
        RawHandle { length: handle.bytes.len() as u32, kind: handle.kind, bytes: [0; 128] };
    raw.bytes[..handle.bytes.len()].copy_from_slice(&handle.bytes);
    let number = mount.as_fd().as_raw_fd();
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the structure is as long as it says and outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_open_by_handle_at, number, &raw const raw, flags) };
    owned(result as i32)
}
