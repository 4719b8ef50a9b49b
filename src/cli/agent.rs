//! `iofwd agent`: serves exports to clients until a signal ends it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use crate::agent::engine::EngineSettings;
use crate::agent::listener::Listeners;
use crate::agent::look::Names;
use crate::agent::service::Service;
use crate::agent::{Agent, Forwarder, Survival};
use crate::backend::posix::{self, Identity};
use crate::key::Key;
use crate::settings::{Export, ServerSettings, Settings, TelemetrySettings};
use crate::striped::{Setup, Striped};
use crate::telemetry;
use crate::tls::AgentTls;

use super::log::LogArguments;
use super::{Failure, say};

pub(super) const EXAMPLES: &str = "Example:
  iofwd agent --example > agent.toml         a settings file with every field explained
  iofwd agent --config agent.toml --check    what is meant by it
  iofwd agent --config agent.toml            serve; SIGTERM ends, SIGHUP reads the file again";

#[derive(Debug, Args)]
pub(super) struct AgentArguments {
    /// The settings file
    #[arg(long, value_name = "FILE", required_unless_present = "example", env = "IOFWD_CONFIG")]
    config: Option<PathBuf>,
    /// Say what the settings mean, or what is wrong with them, and end
    #[arg(long)]
    check: bool,
    /// Print a settings file with every field explained, and end
    #[arg(long, conflicts_with = "check")]
    example: bool,
    #[command(flatten)]
    log: LogArguments,
}

pub(super) fn run(arguments: &AgentArguments) -> Result<ExitCode, Failure> {
    let Some(config) = arguments.config.as_deref().filter(|_| !arguments.example) else {
        say(Settings::example().trim_end());
        return Ok(ExitCode::SUCCESS);
    };
    let settings = read(config)?;
    if arguments.check {
        check(&settings)?;
        say(&format!("{}: good; this is what it means\n", config.display()));
        say(settings.describe().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    arguments.log.start()?;
    posix::raise_limit();
    warn_of(&settings);
    let service = Service::new(settings, &open)?;
    serve(&service, &|service| reload(service, config))
}

/// Serve until a signal says that it is enough; then end in order, and tell.
pub(super) fn serve(
    service: &Arc<Service>,
    on_hangup: &dyn Fn(&Service),
) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("iofwd-runtime")
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(wait(service, on_hangup))?;
    runtime.shutdown_background();
    let totals = service.stop()?;
    let total = |name| totals.get(name).unwrap_or("0").to_owned();
    say(&format!(
        "stopped; everything is durable: {} requests, {} done, {} failed, {} lost",
        total("requests"),
        total("done"),
        total("failed"),
        total("lost")
    ));
    Ok(if total("lost") == "0" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is behind an export.
fn open(
    export: &Export,
    engine: &EngineSettings,
    survival: Option<Survival>,
) -> Result<Arc<dyn Forwarder>, Failure> {
    let explain = |reason: String| format!("cannot export {}: {reason}", export.name);
    let (data, device) = (export.data, export.device.clone());
    let engine = &EngineSettings { data, device, ..engine.clone() };
    if let Some(servers) = &export.servers {
        let setup = setup(servers).map_err(explain)?;
        // Nobody knows in which order nodes are started.
        return Ok(Striped::open(&setup, engine, setup.patience).map_err(explain)?);
    }
    match Agent::surviving(&export.path, engine, survival) {
        Ok(agent) => Ok(Arc::new(agent)),
        Err(errno) => Err(explain(format!("{}: {errno}", export.path.display()))),
    }
}

/// The data servers that settings mean.
fn setup(servers: &ServerSettings) -> Result<Setup, Failure> {
    let key = servers.key_file.as_deref().map(Key::load).transpose();
    Ok(Setup {
        servers: servers.addresses.clone(),
        key: key.map_err(|error| error.to_string())?,
        stripe_size: servers.stripe_size,
        stripe_count: servers.stripe_count.unwrap_or(servers.addresses.len() as u32),
        patience: servers.timeout,
    })
}

fn read(config: &Path) -> Result<Settings, Failure> {
    let settings = Settings::read(config).map_err(|error| error.to_string())?;
    settings.check_places().map_err(|error| error.to_string())?;
    Ok(settings)
}

/// What only shows when it is used.
fn check(settings: &Settings) -> Result<(), Failure> {
    if let Some(file) = &settings.key_file {
        Key::load(file).map_err(|error| error.to_string())?;
    }
    if let Some(tls) = &settings.tls {
        AgentTls::load(&tls.certificate, &tls.private_key, tls.client_ca.as_deref())
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn warn_of(settings: &Settings) {
    if !Identity::can_be_assumed() {
        let user = nix::unistd::geteuid();
        tracing::warn!("not run as root: everything is done as user {user}, whoever asks");
    }
    if settings.key_file.is_none() {
        tracing::warn!(
            "no key_file: only this node can connect, and over TCP whoever does can claim to be any \
             user of it"
        );
    }
}

/// Let clients in until a signal says that it is enough.
async fn wait(service: &Arc<Service>, on_hangup: &dyn Fn(&Service)) -> Result<(), Failure> {
    let fail = |error: std::io::Error| format!("cannot wait for signals: {error}");
    let mut terminate = signal(SignalKind::terminate()).map_err(fail)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(fail)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(fail)?;
    let (listeners, places) = Listeners::bind(service.places()).await?;
    listeners.serve(service);
    publish(service)?;
    tracing::info!(places = places.join(", "), "ready");
    let mut tick = tokio::time::interval(service.tending());
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = hangup.recv() => on_hangup(service),
            _ = tick.tick() => service.tend(),
        }
    }
}

/// Metrics and the page, if they are wanted.
fn publish(service: &Arc<Service>) -> Result<(), Failure> {
    let TelemetrySettings { listen: Some(address), file_names, .. } = *service.telemetry() else {
        return Ok(());
    };
    let names = if file_names { Names::Told } else { Names::Kept };
    let watched = Arc::downgrade(service);
    let address = telemetry::http::serve(address, move || {
        watched.upgrade().map(|service| service.snapshot(names)).unwrap_or_default()
    })?;
    tracing::info!(%address, "metrics");
    Ok(())
}

/// A file that is wrong changes nothing.
fn reload(service: &Service, config: &Path) {
    let reloaded = read(config).and_then(|settings| service.reload(&settings));
    match reloaded {
        Ok(rest) if rest.is_empty() => tracing::info!("settings read again"),
        Ok(rest) => {
            tracing::warn!(fields = rest.join(", "), "settings read again; these need a restart");
        }
        Err(error) => tracing::error!(error, "settings not read again; nothing was changed"),
    }
}
