//! The first exchange with the kernel: what we ask for, and what it grants.

use std::io;
use std::sync::{Arc, Mutex};

use fuser::{Filesystem, InitFlags, KernelConfig, Request};

use crate::cache::Cache;

/// The terms of the connection once they are agreed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) max_write: u32,
    /// Requests come over rings.
    pub(crate) rings: bool,
}

/// Negotiates when `fuser` opens the session, and leaves the terms behind.
#[derive(Debug)]
pub(crate) struct Negotiation {
    cache: Cache,
    max_write: u32,
    rings: bool,
    terms: Arc<Mutex<Terms>>,
}

impl Negotiation {
    pub(crate) fn new(
        cache: Cache,
        max_write: u32,
        rings: bool,
    ) -> (Negotiation, Arc<Mutex<Terms>>) {
        let terms = Arc::new(Mutex::new(Terms::default()));
        (Negotiation { cache, max_write, rings, terms: Arc::clone(&terms) }, terms)
    }
}

impl Filesystem for Negotiation {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let offered = config.capabilities();
        // Adding what was offered cannot fail; what was not, older kernels simply lack.
        let _ = config.add_capabilities(wanted(self.cache) & offered);
        let rings = self.rings && offered.contains(InitFlags::FUSE_OVER_IO_URING);
        if rings {
            let _ = config.add_capabilities(InitFlags::FUSE_OVER_IO_URING);
        }
        let max_write = match config.set_max_write(self.max_write) {
            Ok(_) => self.max_write,
            Err(nearest) => {
                let _ = config.set_max_write(nearest);
                nearest
            }
        };
        let _ = config.set_max_background(MAX_BACKGROUND);
        let _ = config.set_max_readahead(max_write).or_else(|most| config.set_max_readahead(most));
        tracing::debug!(abi = %config.kernel_abi(), max_write, rings, "connected to the kernel");
        *self.terms.lock().expect("no thread panics while it holds the terms") =
            Terms { max_write, rings };
        Ok(())
    }
}

/// What each mode asks of the kernel.
fn wanted(cache: Cache) -> InitFlags {
    let always = InitFlags::FUSE_ASYNC_READ
        | InitFlags::FUSE_ATOMIC_O_TRUNC
        | InitFlags::FUSE_BIG_WRITES
        | InitFlags::FUSE_DONT_MASK
        | InitFlags::FUSE_POSIX_LOCKS
        | InitFlags::FUSE_FLOCK_LOCKS
        | InitFlags::FUSE_HAS_IOCTL_DIR
        | InitFlags::FUSE_ASYNC_DIO
        | InitFlags::FUSE_PARALLEL_DIROPS
        | InitFlags::FUSE_HANDLE_KILLPRIV_V2
        | InitFlags::FUSE_MAX_PAGES
        | InitFlags::FUSE_INIT_EXT
        | InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP;
    // Attributes that come with a listing are worth their cost only if names may be kept.
    let listing = InitFlags::FUSE_DO_READDIRPLUS | InitFlags::FUSE_READDIRPLUS_AUTO;
    match cache {
        Cache::Coherent => always,
        Cache::CloseToOpen => always | InitFlags::FUSE_AUTO_INVAL_DATA,
        // With names cached the kernel checks permissions itself, so it must know the ACLs.
        Cache::Exclusive => {
            always
                | listing
                | InitFlags::FUSE_WRITEBACK_CACHE
                | InitFlags::FUSE_POSIX_ACL
                | InitFlags::FUSE_CACHE_SYMLINKS
        }
    }
}

/// Requests nobody waits for (read-ahead, write-back, asynchronous I/O) that may be under way.
const MAX_BACKGROUND: u16 = 128;
