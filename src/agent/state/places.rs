//! A client's file: a place for each call that it may have under way and that must not be done twice.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::verdict::Verdict;

/// Keep what came of a call. Over the one before, of which the client has heard.
pub(super) fn write(file: &File, place: u16, id: u64, verdict: Verdict) -> io::Result<()> {
    let mut bytes = [0; SIZE];
    let length = postcard::to_slice(&(id, verdict), &mut bytes[1..]).map_err(io::Error::other)?;
    let length = length.len();
    bytes[0] = length as u8;
    file.write_all_at(&bytes[..1 + length], offset(place))
}

/// What came of that call; `None` if it is not known to have been done.
pub(super) fn read(file: &File, place: u16, id: u64) -> io::Result<Option<Verdict>> {
    let mut bytes = [0; SIZE];
    let count = file.read_at(&mut bytes, offset(place))?;
    let length = usize::from(bytes[0]);
    if length == 0 || 1 + length > count {
        return Ok(None);
    }
    let kept: Result<(u64, Verdict), _> = postcard::from_bytes(&bytes[1..1 + length]);
    Ok(kept.ok().filter(|(of, _)| *of == id).map(|(_, verdict)| verdict))
}

/// The number of the last call that was kept there.
pub(super) fn last(file: &File, place: u16) -> io::Result<u64> {
    let mut bytes = [0; SIZE];
    let count = file.read_at(&mut bytes, offset(place))?;
    let length = usize::from(bytes[0]);
    let kept = bytes.get(1..1 + length).filter(|_| length > 0 && length < count);
    let id = kept.and_then(|kept| postcard::from_bytes::<(u64, Verdict)>(kept).ok());
    Ok(id.map_or(0, |(id, _)| id))
}

fn offset(place: u16) -> u64 {
    u64::from(place) * SIZE as u64
}

/// Bytes of a place: a power of two, so that none lies on two pages.
const SIZE: usize = 64;

#[cfg(test)]
mod tests {
    use super::super::verdict::Identified;
    use super::*;
    use crate::backend::posix::Key;

    #[test]
    fn a_place_has_the_last_call_and_no_other() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(read(&file, 3, 7).unwrap(), None);
        let key = Key { device: (u32::MAX, u32::MAX), number: u64::MAX };
        let birth = iofwd_mount::store::Timestamp { secs: i64::MIN, nanos: u32::MAX };
        let made = Verdict::Made(Identified::new(key, Some(birth)));
        write(&file, 3, 7, made).unwrap();
        write(&file, 2, 6, Verdict::Failed(17)).unwrap();
        assert_eq!(read(&file, 3, 7).unwrap(), Some(made));
        assert_eq!(read(&file, 2, 6).unwrap(), Some(Verdict::Failed(17)));
        assert_eq!(read(&file, 3, 8).unwrap(), None);
        write(&file, 3, u64::MAX, Verdict::Done).unwrap();
        assert_eq!((read(&file, 3, 7).unwrap(), last(&file, 3).unwrap()), (None, u64::MAX));
    }
}
