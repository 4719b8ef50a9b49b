//! What the agent answers to control operations on its root directory, and to those who ask it in words.

use iofwd_mount::store::Controlled;
use iofwd_mount::{Caller, Errno};

use crate::control::{FLUSH, SNAPSHOT, STATUS, text};
use crate::report::Report;

use super::Agent;
use super::look::Names;
use super::service::{Peer, Service};

impl Agent {
    /// Answer a control operation of ours; `None` if it is none.
    pub(super) fn control(
        &self,
        caller: &Caller,
        command: u32,
        argument: &[u8],
        room: usize,
    ) -> Option<Result<Controlled, Errno>> {
        match command {
            STATUS => Some(text(&self.report().to_text(), room)),
            FLUSH => Some(self.settle().and_then(|()| text(&self.report().to_text(), room))),
            SNAPSHOT => {
                let names = self.may_know_names(caller);
                Some(self.lookout.page(argument, room, || self.snapshot(names)))
            }
            _ => None,
        }
    }

    /// Names of files are for the super-user, and for whoever runs the agent.
    fn may_know_names(&self, caller: &Caller) -> Names {
        let user = self.callers.identity(caller).uid();
        let own = nix::unistd::geteuid().as_raw();
        if user == 0 || user == own { Names::Told } else { Names::Kept }
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
        self.layouts.report(&mut report);
        self.ways.report(&mut report);
        if let Some(keeper) = &self.keeper {
            keeper.report(&mut report);
        }
        for (name, value) in self.engine.report().iter() {
            report.add(name, value);
        }
        for (number, server) in self.layouts.servers().iter().enumerate() {
            report.add(&format!("server_{number}_is"), server);
        }
        report
    }
}

/// Do what somebody tells the agent to, if they may: the answer, or why not.
pub(super) fn obey(service: &Service, peer: &Peer, words: &[String]) -> Result<String, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["status"] => Ok(service.report().to_text()),
        ["snapshot", offset, token] => service.tell_page(peer, offset, token),
        ["set", changes @ ..] if peer.is_master() => service.change(changes),
        ["set", ..] => {
            Err("only root, or the user who runs it, may change it, through its unix socket".into())
        }
        _ => Err(format!("it does not know what '{}' means", words.join(" "))),
    }
}
