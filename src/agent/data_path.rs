//! Through the cache of this node or around it, decided when a file is opened.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::backend::posix::Identity;
use crate::report::Report;
use crate::settings::DataPath;

use super::Agent;
use super::files::OpenFile;

/// What was asked for, and how often it was done.
#[derive(Debug)]
pub(super) struct Ways {
    wanted: DataPath,
    direct: AtomicU64,
}

impl Ways {
    pub(super) fn new(wanted: DataPath) -> Ways {
        Ways { wanted, direct: AtomicU64::new(0) }
    }

    pub(super) fn report(&self, report: &mut Report) {
        report.add("opened_direct", self.direct.load(Ordering::Relaxed));
    }

    fn is_direct(&self, open: &OpenFile) -> bool {
        match self.wanted {
            DataPath::Auto => open.node.layout.current().asked.has_data_servers(),
            DataPath::Direct => true,
            DataPath::Buffered => false,
        }
    }
}

impl Agent {
    /// Have the data of a file that is being opened go around the cache, if they are to. Where the file
    /// system cannot do that they go through it.
    pub(super) fn choose_way(&self, open: &OpenFile) {
        if open.node.inode.is_file() && self.ways.is_direct(open) {
            // Whether the caller may open the file has been decided.
            Identity::assume_agent();
            let direct = open.file.go_around_cache();
            self.ways.direct.fetch_add(u64::from(direct), Ordering::Relaxed);
        }
    }
}
