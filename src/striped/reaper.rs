//! Removes the objects of files that are gone. Every agent does; it does not matter who was first.

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use iofwd_mount::Errno;

use crate::wire::call::Call;
use crate::wire::stripe::{FileCall, ObjectCall, Stripes, take_all};

use super::data::Data;

/// Look for such files for as long as there is somebody who uses the servers.
pub(super) fn start(data: &Arc<Data>) -> io::Result<()> {
    let data = Arc::downgrade(data);
    thread::Builder::new().name("iofwd-reaper".into()).spawn(move || reap(&data))?;
    Ok(())
}

fn reap(data: &Weak<Data>) {
    while let Some(data) = data.upgrade() {
        let more = data.remove_orphans();
        drop(data);
        // A server that is away is asked another time.
        if !matches!(more, Ok(true)) {
            thread::sleep(PAUSE);
        }
    }
}

impl Data {
    /// Remove the objects of some files that are gone. Whether there were any.
    pub(super) fn remove_orphans(&self) -> Result<bool, Errno> {
        let call = Call::File(FileCall::Orphans);
        let (_, bytes) = self.names().demand(None, call, &[], ORPHANS_MOST).answer()?;
        let orphans: Vec<Stripes> = take_all(&bytes).ok_or(Errno::EIO)?;
        for orphan in &orphans {
            let object = orphan.object;
            let remove = |number: &u32| (*number, ObjectCall::Remove { object });
            self.ask_all(orphan.servers.iter().map(remove))?;
            let freed = Call::File(FileCall::Freed { object });
            self.names().demand(None, freed, &[], 0).answer()?;
        }
        Ok(!orphans.is_empty())
    }
}

const PAUSE: Duration = Duration::from_secs(1);
/// Bytes of an answer: some hundred files of a thousand servers each.
const ORPHANS_MOST: usize = 1 << 20;
