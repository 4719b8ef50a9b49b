//! What came of a call, as it is kept for a client that may not have heard of it.

use serde::{Deserialize, Serialize};

use iofwd_mount::Errno;
use iofwd_mount::store::Timestamp;

use crate::backend::posix::{Birth, Key};

/// Which inode: one whose number is used again is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identified {
    device: (u32, u32),
    number: u64,
    birth: Option<Timestamp>,
}

impl Identified {
    pub(crate) fn new(key: Key, birth: Birth) -> Identified {
        Identified { device: key.device, number: key.number, birth }
    }

    pub(crate) fn key(&self) -> Key {
        Key { device: self.device, number: self.number }
    }

    pub(crate) fn birth(&self) -> Birth {
        self.birth
    }
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// It failed with this error.
    Failed(i32),
    /// It is done.
    Done,
    /// It is done, and has made this.
    Made(Identified),
    /// So many bytes were written.
    Written(u32),
}

impl Verdict {
    /// The error, if it failed.
    pub(crate) fn check(self) -> Result<Verdict, Errno> {
        match self {
            Verdict::Failed(errno) => Err(Errno::from_raw(errno)),
            Verdict::Done | Verdict::Made(_) | Verdict::Written(_) => Ok(self),
        }
    }
}
