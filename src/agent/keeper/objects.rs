//! The objects of this server, as agents ask for them.

use iofwd_mount::Errno;

use crate::backend::objects::{Key, Objects};
use crate::backend::posix::Identity;
use crate::wire::answer::Value;
use crate::wire::stripe::{self, ObjectCall, ObjectId, ObjectRecord};

/// What is answered: a value, and bytes.
pub(super) type Answer = Result<(Value, Vec<u8>), Errno>;

/// Do what was asked for. An answer has at most `room` bytes.
pub(super) fn serve(objects: &Objects, call: ObjectCall, payload: &[u8], room: usize) -> Answer {
    Identity::assume_agent();
    match call {
        ObjectCall::Read { object: ObjectId(key), offset, length } => {
            read(objects, key, offset, (length as usize).min(room))
        }
        ObjectCall::Write { object: ObjectId(key), epoch, offset } => {
            check(offset, payload.len() as u64)?;
            objects.write(key, epoch, offset, payload)?;
            Ok((Value::Written(payload.len() as u32), Vec::new()))
        }
        ObjectCall::Cut { object: ObjectId(key), epoch, size } => {
            done(objects.cut(key, epoch, size))
        }
        ObjectCall::Allocate { object: ObjectId(key), epoch, mode, offset, length } => {
            check(offset, length)?;
            if mode & !MODES != 0 {
                return Err(Errno::from_raw(libc::EOPNOTSUPP));
            }
            done(objects.allocate(key, epoch, mode, (offset, length)))
        }
        ObjectCall::Seek { object: ObjectId(key), offset, hole } => {
            let found = objects.seek(key, offset, hole)?;
            Ok((Value::Position(found as i64), Vec::new()))
        }
        ObjectCall::Sync { object: ObjectId(key), data_only } => done(objects.sync(key, data_only)),
        ObjectCall::SyncAll => done(objects.sync_all()),
        ObjectCall::Remove { object: ObjectId(key) } => done(objects.remove(key)),
        ObjectCall::List { after } => {
            let listed = objects.list(after.map(|ObjectId(key)| key))?;
            let records = listed.iter().fold(Vec::new(), |records, listed| {
                let (object, size) = (ObjectId(listed.key), listed.size);
                stripe::append(&ObjectRecord { object, size }, records)
            });
            Ok((Value::Data, records))
        }
        ObjectCall::Statfs => Ok((Value::Statfs(objects.statfs()?), Vec::new())),
        // Who this server is, its roster knows.
        ObjectCall::Identify | ObjectCall::Evict { .. } => Err(Errno::EINVAL),
    }
}

fn read(objects: &Objects, key: Key, offset: u64, length: usize) -> Answer {
    check(offset, length as u64)?;
    let mut bytes = vec![0; length];
    let count = objects.read(key, offset, &mut bytes)?;
    bytes.truncate(count);
    Ok((Value::Data, bytes))
}

fn done(result: Result<(), Errno>) -> Answer {
    result.map(|()| (Value::Nothing, Vec::new()))
}

/// Offsets are signed in the end, as kernels have them.
fn check(offset: u64, length: u64) -> Result<(), Errno> {
    let end = offset.checked_add(length).filter(|end| *end <= i64::MAX as u64);
    end.map(drop).ok_or(Errno::from_raw(libc::EFBIG))
}

/// What can be done to objects one by one.
const MODES: i32 =
    libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
