//! What the agent answers to control operations on its root directory.

use iofwd_mount::Errno;
use iofwd_mount::store::Controlled;

use crate::control::{FLUSH, STATUS, text};
use crate::report::Report;

use super::Agent;

impl Agent {
    /// Answer a control operation of ours; `None` if it is none.
    pub(super) fn control(
        &self,
        command: u32,
        _argument: &[u8],
        room: usize,
    ) -> Option<Result<Controlled, Errno>> {
        match command {
            STATUS => Some(text(&self.report().to_text(), room)),
            FLUSH => Some(self.settle().and_then(|()| text(&self.report().to_text(), room))),
            _ => None,
        }
    }

    /// What the agent has done so far.
    pub fn report(&self) -> Report {
        let mut report = Report::default();
        report.add("version", env!("CARGO_PKG_VERSION"));
        report.add("pid", std::process::id());
        report.add("nodes", self.nodes.len());
        report.add("open_files", self.files.len());
        let (open, limit) = self.tree.descriptors();
        report.add("node_descriptors", open);
        report.add("node_descriptors_limit", limit);
        for (name, value) in self.engine.report().iter() {
            report.add(name, value);
        }
        report
    }
}
