//! Servers as slow as a device that somebody asked for: one device for each server.

use std::sync::{Arc, PoisonError, RwLock};

use iofwd_scheduler::request::{Extent, FileId, Operation, Request, ServerId};

use crate::device::{Device, Spec, Work};

/// The devices, if there are to be any.
#[derive(Debug)]
pub(super) struct Devices {
    spec: Option<Spec>,
    of_servers: RwLock<Vec<Arc<Device>>>,
}

impl Devices {
    pub(super) fn new(spec: Option<Spec>) -> Devices {
        Devices { spec, of_servers: RwLock::default() }
    }

    /// Wait as long as the device takes for a batch: requests for one file on one server.
    pub(super) fn serve<'a>(&self, batch: impl Iterator<Item = &'a Request>) {
        let Some(spec) = &self.spec else { return };
        let mut batch = batch.peekable();
        let Some(&&Request { server, file, operation, .. }) = batch.peek() else { return };
        let extents: Vec<Extent> =
            batch.map(|request| Extent::new(request.local, request.length())).collect();
        self.of(server, spec).serve(&work(file, &extents, operation));
    }

    /// Wait as long as the device takes for one request.
    pub(super) fn serve_one(
        &self,
        server: ServerId,
        file: FileId,
        local: Extent,
        operation: Operation,
    ) {
        if let Some(spec) = &self.spec {
            self.of(server, spec).serve(&work(file, &[local], operation));
        }
    }

    /// The device of a server; a new one if nobody used it yet.
    fn of(&self, server: ServerId, spec: &Spec) -> Arc<Device> {
        let known = self.of_servers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = known.get(server.index()) {
            return Arc::clone(device);
        }
        drop(known);
        let mut known = self.of_servers.write().unwrap_or_else(PoisonError::into_inner);
        let more = (server.index() + 1).saturating_sub(known.len());
        known.extend((0..more).map(|_| Arc::new(Device::new(spec))));
        Arc::clone(&known[server.index()])
    }
}

/// An agent has its devices to itself: there is one sender.
fn work(file: FileId, extents: &[Extent], operation: Operation) -> Work<'_> {
    Work { sender: 0, object: file.0, extents, operation }
}
