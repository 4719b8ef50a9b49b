//! What is behind a mount: watched while it serves, and settled when it ends.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use iofwd_mount::{Errno, Store};

use crate::agent::Agent;
use crate::client::Client;
use crate::introspect::Introspected;
use crate::report::Report;
use crate::striped::Striped;
use crate::telemetry::{self, Snapshot};

use crate::cli::{Failure, status};

/// The other side of the mount.
pub(in crate::cli) trait Behind: Store {
    /// Make everything durable.
    fn settle(&self) -> Result<(), Errno>;
    /// What was done.
    fn report(&self) -> Report;
    /// Nothing more will be asked.
    fn leave(&self) {}
    /// Files that were not written as they should have been.
    fn not_written(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Behind for Agent {
    fn settle(&self) -> Result<(), Errno> {
        Agent::settle(self)
    }

    fn report(&self) -> Report {
        Agent::report(self)
    }
}

impl Behind for Striped {
    fn settle(&self) -> Result<(), Errno> {
        Striped::settle(self)
    }

    fn report(&self) -> Report {
        Striped::report(self)
    }

    fn leave(&self) {
        Striped::leave(self);
    }
}

impl Behind for Client {
    fn settle(&self) -> Result<(), Errno> {
        Client::settle(self)
    }

    fn report(&self) -> Report {
        // What an agent that is gone has done is not known.
        Client::report(self).unwrap_or_default()
    }

    fn leave(&self) {
        Client::leave(self);
    }

    fn not_written(&self) -> Vec<String> {
        Client::not_written(self)
    }
}

/// What the kernel sees: what is behind, and files that tell of it if they are wanted.
pub(super) fn shown(introspect: bool, behind: &Arc<dyn Behind>) -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::clone(behind) as Arc<_>;
    if !introspect {
        return store;
    }
    let told = Arc::downgrade(behind);
    let status = move || told.upgrade().map(|behind| status::table(&behind.report()));
    Arc::new(Introspected::new(store, Box::new(move || status().unwrap_or_default())))
}

/// Metrics and the page of what is in this process, without names of files: anybody here can look.
pub(super) fn publish<T: Send + Sync + 'static>(
    metrics: Option<SocketAddr>,
    watched: &Arc<T>,
    look: fn(&T) -> Snapshot,
) -> Result<(), Failure> {
    let Some(address) = metrics else { return Ok(()) };
    let watched = Arc::downgrade(watched);
    let address = telemetry::http::serve(address, move || {
        watched.upgrade().map(|watched| look(&watched)).unwrap_or_default()
    })?;
    tracing::info!(%address, "metrics");
    Ok(())
}

/// Make everything durable, or say what is not.
pub(in crate::cli) fn settle(behind: &dyn Behind) -> Result<(), Failure> {
    let settled = behind.settle();
    let files = behind.not_written();
    match settled {
        Ok(()) => {
            // Whoever wrote was told at the time; the rest is durable.
            if !files.is_empty() {
                tracing::warn!(files = files.join(", "), "writes failed while there was no agent");
            }
            Ok(())
        }
        Err(errno) if files.is_empty() => {
            Err(format!("not everything could be made durable: {errno}"))
        }
        Err(errno) => {
            let files = files.join(", ");
            Err(format!("not everything could be made durable: {errno}; not written: {files}"))
        }
    }
}

pub(super) fn finish(behind: &dyn Behind) -> Result<ExitCode, Failure> {
    settle(behind)?;
    let report = behind.report();
    behind.leave();
    tracing::info!(
        reads = report.get("reads"),
        writes = report.get("writes"),
        "unmounted; everything is durable"
    );
    Ok(ExitCode::SUCCESS)
}
