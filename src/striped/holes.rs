//! Where data and holes are, put together from what every server says of its object.

use iofwd_mount::Errno;

use crate::wire::answer::Value;
use crate::wire::stripe::ObjectCall;

use super::file::File;

impl File {
    /// The next data, or the next hole, from an offset on.
    pub(super) fn seek(&self, offset: i64, whence: i32) -> Result<i64, Errno> {
        let size = self.data.size(self.node)?;
        let nothing = Errno::from_raw(libc::ENXIO);
        let offset = u64::try_from(offset).map_err(|_| nothing)?;
        if offset >= size {
            return Err(nothing);
        }
        let found = match whence {
            libc::SEEK_DATA => self.next_data(offset)?.filter(|found| *found < size),
            libc::SEEK_HOLE => Some(self.next_hole(offset, size)?),
            _ => return Err(Errno::EINVAL),
        };
        found.map(|found| found as i64).ok_or(nothing)
    }

    /// The first byte of data that any server has.
    fn next_data(&self, offset: u64) -> Result<Option<u64>, Errno> {
        let mut first = None;
        for (turn, number) in self.turns() {
            let local = self.geometry.share(turn, offset);
            if let Some(found) = self.ask(number, local, false)? {
                let found = self.geometry.file_offset(turn, found);
                first = Some(first.map_or(found, |first: u64| first.min(found)));
            }
        }
        Ok(first)
    }

    /// The first byte that its server has not; the end of the file at the latest.
    fn next_hole(&self, offset: u64, size: u64) -> Result<u64, Errno> {
        // What each server said last: up to there it has data.
        let mut holes: Vec<Option<u64>> = vec![None; self.geometry.count as usize];
        let servers: Vec<u32> = self.turns().map(|(_, number)| number).collect();
        let mut position = offset;
        while position < size {
            let turn = self.geometry.turn(position);
            let local = self.geometry.share(turn, position);
            let hole = match holes[turn as usize] {
                Some(hole) if hole > local => hole,
                _ => self.ask(servers[turn as usize], local, true)?.unwrap_or(local),
            };
            holes[turn as usize] = Some(hole);
            let next = self.geometry.next_stripe(position);
            if hole < local + (next - position) {
                return Ok(self.geometry.file_offset(turn, hole).min(size));
            }
            position = next;
        }
        Ok(size)
    }

    fn ask(&self, server: u32, offset: u64, hole: bool) -> Result<Option<u64>, Errno> {
        let call = ObjectCall::Seek { object: self.object, offset, hole };
        match self.data.server(server)?.ask(call, &[], 0) {
            Ok((Value::Position(found), _)) => Ok(u64::try_from(found).ok()),
            Ok(_) => Err(Errno::EIO),
            Err(errno) if errno.raw() == libc::ENXIO => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}
