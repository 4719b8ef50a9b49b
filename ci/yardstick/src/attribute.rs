//! Between the system's notions of attributes, times and errors, and FUSE's.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};
use nix::sys::stat::FileStat;
use nix::sys::time::TimeSpec;

/// What FUSE wants to know of a file.
pub(crate) fn of(stat: &FileStat) -> FileAttr {
    FileAttr {
        ino: INodeNo(stat.st_ino),
        size: stat.st_size.cast_unsigned(),
        blocks: stat.st_blocks.cast_unsigned(),
        atime: time(stat.st_atime, stat.st_atime_nsec),
        mtime: time(stat.st_mtime, stat.st_mtime_nsec),
        ctime: time(stat.st_ctime, stat.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: kind(stat.st_mode),
        perm: (stat.st_mode & 0o7777) as u16,
        nlink: stat.st_nlink as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: stat.st_rdev as u32,
        blksize: stat.st_blksize as u32,
        flags: 0,
    }
}

/// A time to set, where none means to leave the old one.
pub(crate) fn to_set(time: Option<TimeOrNow>) -> TimeSpec {
    match time {
        None => TimeSpec::UTIME_OMIT,
        Some(TimeOrNow::Now) => TimeSpec::UTIME_NOW,
        Some(TimeOrNow::SpecificTime(time)) => match time.duration_since(UNIX_EPOCH) {
            Ok(after) => TimeSpec::from_duration(after),
            Err(before) => before_epoch(before.duration()),
        },
    }
}

/// fuser makes a time before 1970 by going back the whole seconds and then the nanoseconds too,
/// which should have gone forward; this undoes it.
fn before_epoch(distance: Duration) -> TimeSpec {
    let seconds = i64::try_from(distance.as_secs()).unwrap_or(i64::MAX);
    TimeSpec::new(-seconds, i64::from(distance.subsec_nanos()))
}

fn time(seconds: i64, nanoseconds: i64) -> SystemTime {
    let fraction = Duration::from_nanos(nanoseconds.unsigned_abs());
    let whole = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { UNIX_EPOCH - whole + fraction } else { UNIX_EPOCH + whole + fraction }
}

fn kind(mode: u32) -> FileType {
    match mode & libc::S_IFMT {
        libc::S_IFDIR => FileType::Directory,
        libc::S_IFLNK => FileType::Symlink,
        libc::S_IFIFO => FileType::NamedPipe,
        libc::S_IFSOCK => FileType::Socket,
        libc::S_IFCHR => FileType::CharDevice,
        libc::S_IFBLK => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_around_the_epoch_are_the_systems() {
        assert_eq!(time(5, 7), UNIX_EPOCH + Duration::new(5, 7));
        assert_eq!(time(-1, 999_999_999), UNIX_EPOCH - Duration::from_nanos(1));
    }

    #[test]
    fn a_time_before_the_epoch_is_set_as_it_was_meant() {
        let from_fuser = UNIX_EPOCH - Duration::new(2, 500);
        let set = to_set(Some(TimeOrNow::SpecificTime(from_fuser)));
        assert_eq!((set.tv_sec(), set.tv_nsec()), (-2, 500));
    }
}
