//! All that can be seen of a directory and the files open in it, except what no two directories
//! share: inode numbers (only which names are one file), and times that nobody set. Of what should
//! be one and the same directory, these too.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::stat::{FileStat, fstat, lstat};
use nix::sys::uio::pread;
use nix::unistd::{Whence, lseek};

use super::attribute;

/// A description of each path and each open file.
pub(crate) type State = BTreeMap<String, String>;

/// The first difference between two states, in words.
pub(crate) fn difference(here: &State, there: &State) -> Option<String> {
    let names = here.keys().chain(there.keys());
    let different = names.into_iter().find(|name| here.get(*name) != there.get(*name))?;
    let show = |state: &State| state.get(different).cloned().unwrap_or_else(|| "nothing".into());
    Some(format!("{different}\n  here:  {}\n  there: {}", show(here), show(there)))
}

/// All that is to be seen of the directory, and of the files open in it.
pub(crate) fn read(root: &Path, slots: &[Option<OwnedFd>]) -> State {
    let mut state = tree(root, plain);
    for (number, slot) in slots.iter().enumerate() {
        if let Some(file) = slot {
            state.insert(format!("open file {number}"), open_file(file));
        }
    }
    state
}

/// All that every client of one directory must agree on, inode numbers and times included; but not
/// when a file was last read, because looking changes it.
pub(crate) fn exact(root: &Path) -> State {
    tree(root, |stat| {
        let modified = (stat.st_mtime, stat.st_mtime_nsec);
        let changed = (stat.st_ctime, stat.st_ctime_nsec);
        let (number, blocks) = (stat.st_ino, stat.st_blocks);
        let times = format!("modified {modified:?}, changed {changed:?}");
        format!("{}, inode {number}, {blocks} blocks, {times}", plain(stat))
    })
}

fn tree(root: &Path, attributes: impl Fn(&FileStat) -> String) -> State {
    let mut state = State::new();
    let mut first_names = HashMap::new();
    let mut rest = vec![PathBuf::new()];
    while let Some(relative) = rest.pop() {
        let path = root.join(&relative);
        let name = relative.display().to_string();
        let text = match lstat(&path) {
            Err(error) => format!("{error:?}"),
            Ok(stat) => {
                let file = (stat.st_mode, stat.st_ino);
                let first = first_names.entry(file).or_insert_with(|| name.clone());
                let (first, contents) = (first.clone(), contents(&path, &stat));
                let (stat, extended) = (attributes(&stat), extended(&path));
                format!("{stat}, one file with {first:?}, {contents}, {extended}")
            }
        };
        state.insert(name, text);
        rest.extend(children(&path, &relative));
    }
    state
}

/// The names in a directory with their types, sorted.
pub(crate) fn list(path: &Path) -> Result<String, Errno> {
    let code = |e: std::io::Error| Errno::from_raw(e.raw_os_error().unwrap_or(0));
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(code)? {
        let entry = entry.map_err(code)?;
        names.push(format!("{:?} {:?}", entry.file_name(), entry.file_type().map_err(code)?));
    }
    names.sort_unstable();
    Ok(names.join(", "))
}

/// Bytes in a form short enough to be read: runs of equal ones.
pub(crate) fn describe(bytes: &[u8]) -> String {
    let runs: Vec<_> = bytes
        .chunk_by(|one, next| one == next)
        .map(|run| format!("{}x{:02x}", run.len(), run[0]))
        .collect();
    format!("{} bytes [{}]", bytes.len(), runs.join(" "))
}

fn plain(stat: &FileStat) -> String {
    let size = if stat.st_mode & libc::S_IFMT == libc::S_IFDIR { 0 } else { stat.st_size };
    let (mode, links, user, group) = (stat.st_mode, stat.st_nlink, stat.st_uid, stat.st_gid);
    format!("mode {mode:o}, {links} links, owner {user}:{group}, size {size}")
}

fn contents(path: &Path, stat: &FileStat) -> String {
    let shown = match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => fs::read(path).map(|bytes| describe(&bytes)),
        libc::S_IFLNK => fs::read_link(path).map(|target| format!("to {target:?}")),
        _ => Ok(String::from("no contents")),
    };
    shown.unwrap_or_else(|error| error.to_string())
}

fn extended(path: &Path) -> String {
    let names = match attribute::list(path) {
        Ok(names) => names,
        Err(error) => return format!("attributes {error:?}"),
    };
    let value = |name: &String| match attribute::get(path, name) {
        Ok(value) => format!("{name}={}", describe(&value)),
        Err(error) => format!("{name}={error:?}"),
    };
    format!("attributes {:?}", names.iter().map(value).collect::<Vec<_>>())
}

fn children(path: &Path, relative: &Path) -> Vec<PathBuf> {
    // Not a directory: no children.
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| relative.join(entry.file_name())).collect();
    // The order of a directory is its own affair.
    found.sort_unstable();
    found
}

/// An open file, which may have no name any more: attributes, position, and data if readable.
fn open_file(file: &OwnedFd) -> String {
    let stat = match fstat(file) {
        Ok(stat) => stat,
        Err(error) => return format!("{error:?}"),
    };
    let position = lseek(file, 0, Whence::SeekCur);
    let mut data = vec![0; usize::try_from(stat.st_size).unwrap_or(0)];
    let is_file = stat.st_mode & libc::S_IFMT == libc::S_IFREG;
    let data = match is_file.then(|| pread(file, &mut data, 0)) {
        Some(Ok(length)) => describe(&data[..length]),
        Some(Err(error)) => format!("{error:?}"),
        None => "no data".into(),
    };
    format!("{}, at {position:?}, {data}", plain(&stat))
}
