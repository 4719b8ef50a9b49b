//! Several clients at a time, as an agent serves them.

use iofwd_mount::caller::Introduction;
use iofwd_mount::store::{HandleId, NodeId};
use iofwd_mount::{Errno, Reply};

use crate::agent::engine::Engine;
use crate::agent::look::Names;
use crate::agent::{Forwarder, Gate, Guest, Passage};
use crate::report::Report;
use crate::telemetry::snapshot::Export;

use super::Striped;

impl Forwarder for Striped {
    fn introduce(&self, guest: Guest) -> Introduction {
        let identity = &guest.identity;
        let (uid, gid, groups) = (identity.uid(), identity.gid(), identity.groups());
        self.names.introduce(uid, gid, groups, guest.job.0)
    }

    fn dismiss(&self, introduction: Introduction) {
        self.names.dismiss(introduction);
    }

    fn left(&self, _client: u64) {
        self.interrupt_all();
    }

    fn stop_waiting(&self, _client: u64) {
        self.interrupt_all();
    }

    fn close_file(&self, handle: HandleId, _client: u64) {
        self.close(NodeId::ROOT, handle, Reply::call(|_| {}));
    }

    fn waiting(&self) -> usize {
        self.common.views().iter().map(|view| view.waiting.len()).sum()
    }

    fn settle(&self) -> Result<(), Errno> {
        Striped::settle(self)
    }

    fn make_durable(&self) -> Result<(), Errno> {
        Striped::make_durable(self)
    }

    fn report(&self) -> Report {
        Striped::report(self)
    }

    fn look(&self, _names: Names) -> Export {
        Striped::look(self)
    }

    fn leave(&self) {
        Striped::leave(self);
    }

    fn engine(&self) -> &Engine {
        &self.common.engine
    }

    fn gate(&self) -> Option<&dyn Gate> {
        (!self.is_view).then_some(self)
    }

    fn passage(&self) -> Option<&dyn Passage> {
        self.is_view.then_some(self)
    }
}
