//! Makes the tree: every kind of file, attribute and name that a file system may be asked to keep.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use crate::site::Site;
use crate::step::Step;

/// Makes it at a path where nothing is yet.
pub(crate) fn make(site: &Site, root: &Path) -> Result<(), String> {
    let made = names(root)
        .and_then(|()| links(root))
        .and_then(|()| sparse(root))
        .and_then(|()| deep(root))
        .and_then(|()| socket(site, root));
    made.map_err(|e| format!("make a tree in {}: {e}", root.display()))?;
    Step::shell(SPECIAL).dir(root).run(site)?;
    modes(root).map_err(|e| format!("modes in {}: {e}", root.display()))?;
    Step::shell(AGED).dir(root).run(site).map(drop)
}

/// Names of all bytes that a name may have, and the longest.
fn names(root: &Path) -> io::Result<()> {
    let directory = root.join("names");
    fs::create_dir_all(&directory)?;
    let bytes: Vec<u8> = (1..=255).filter(|&byte| byte != b'/').collect();
    for chunk in bytes.chunks(40) {
        fs::write(directory.join(OsStr::from_bytes(chunk)), chunk)?;
    }
    let longest = OsString::from_vec(vec![b'n'; 255]);
    for name in ["-rf", " ", "a\nb", "*", "\u{fc}\u{1f980}", "..."] {
        fs::write(directory.join(name), name)?;
    }
    fs::write(directory.join(longest), "longest")
}

fn links(root: &Path) -> io::Result<()> {
    let directory = root.join("links");
    fs::create_dir(&directory)?;
    fs::write(directory.join("one"), "one file, three names")?;
    fs::hard_link(directory.join("one"), directory.join("two"))?;
    fs::hard_link(directory.join("one"), root.join("names/three"))?;
    symlink("one", directory.join("to-one"))?;
    symlink("nowhere", directory.join("to-nowhere"))?;
    symlink("/", directory.join("to-root"))?;
    symlink("x".repeat(1000), directory.join("to-far"))?;
    lchown(directory.join("to-one"), Some(1), Some(1))?;
    fs::hard_link(directory.join("to-one"), directory.join("to-one-too"))
}

/// Holes at the beginning, in the middle and at the end.
fn sparse(root: &Path) -> io::Result<()> {
    let file = File::create(root.join("sparse"))?;
    file.write_all_at(&[b'd'; 4096], 1 << 20)?;
    file.write_all_at(b"an end not on a block", 9 << 20)?;
    file.set_len((16 << 20) + 7)?;
    fs::write(root.join("empty"), "")?;
    let pattern: Vec<u8> = (0..3_000_001u32).map(|n| (n % 251) as u8).collect();
    fs::write(root.join("large"), pattern)
}

/// A path close to the longest that a call may name.
fn deep(root: &Path) -> io::Result<()> {
    let mut path = root.join("deep");
    while path.as_os_str().len() < DEEPEST {
        path.push("a-name-of-some-forty-bytes-to-get-deep-soon");
    }
    fs::create_dir_all(&path)?;
    fs::write(path.join("bottom"), "bottom")
}

/// A socket's path must be short when it is made.
fn socket(site: &Site, root: &Path) -> io::Result<()> {
    let short = site.room.join("socket");
    drop(UnixListener::bind(&short)?);
    fs::rename(short, root.join("socket"))
}

/// Owners, modes and times last, because writing changes them.
fn modes(root: &Path) -> io::Result<()> {
    let directory = root.join("modes");
    fs::create_dir(&directory)?;
    for mode in [0o000, 0o400, 0o755, 0o1644, 0o2711, 0o4755, 0o6555, 0o7777] {
        let path = directory.join(format!("{mode:04o}"));
        fs::write(&path, "mode")?;
        chown(&path, Some(mode + 1), Some(mode + 2))?;
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
    }
    for mode in [0o1777, 0o2775, 0o500] {
        let path = directory.join(format!("directory-{mode:04o}"));
        fs::create_dir(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
    }
    for (name, seconds) in [("old", 1), ("new", 4_000_000_000), ("recent", 1_600_000_000)] {
        let path = directory.join(name);
        fs::write(&path, name)?;
        let time = UNIX_EPOCH + Duration::new(seconds, 123_456_789);
        File::open(&path)?.set_times(FileTimes::new().set_modified(time))?;
    }
    let time = UNIX_EPOCH + Duration::new(1_234_567_890, 987_654_321);
    File::open(&directory)?.set_times(FileTimes::new().set_modified(time))
}

/// What std has no call for. Attributes of the trusted kind are those that symbolic links may have.
const SPECIAL: &str = "
    mkdir special attributes
    mkfifo -m 640 special/fifo
    mknod special/null c 1 3
    mknod special/block b 7 200
    touch -h -d '1999-12-31 23:59:59.987654321' links/to-nowhere
    touch -d '1960-01-02 03:04:05.678' special/fifo
    cd attributes
    touch user acl
    mkdir default
    ln -s user link
    setfattr -n user.text -v 'some text' user
    setfattr -n user.bytes -v 0x00ff0a user
    setfattr -n user.empty user
    setfattr -n user.long -v \"$(printf '%01000d' 7)\" user
    setfattr -h -n trusted.link -v seen link
    setfattr -n user.directory -v yes default
    setfacl -m u:12:rw,g:34:r,m::rw acl
    setfacl -m u:12:rwx,d:u:12:rx,d:g::rwx,d:o::- default
";

/// rsync leaves the time of a copy as it is if it is of the same second, and copies are made within one.
const AGED: &str = "
    find . -depth -newermt '1 hour ago' ! -newermt tomorrow -execdir \
        touch -h -d '2021-03-04 05:06:07.089012345' {} +
";

/// The longest path is 4096 bytes; the copies lie deeper than the original.
const DEEPEST: usize = 3600;
