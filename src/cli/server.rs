//! `iofwd server`: a data server, which keeps names and stripes for agents until a signal ends it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use iofwd_mount::Errno;
use iofwd_scheduler::time::Span;

use crate::agent::service::Service;
use crate::agent::{Agent, Desk, Forwarder};
use crate::backend::posix::{self, Identity};
use crate::device;
use crate::quantity;
use crate::settings::Settings;
use crate::striped::EXPORT;

use super::log::LogArguments;
use super::{Failure, agent};

pub(super) const EXAMPLES: &str = "Example:
  iofwd server --dir /data/iofwd --listen 0.0.0.0:7041 --key-file /etc/iofwd/servers.key
  and in the settings of an agent, which forwards to four of them:
    [[export]]
    name = \"scratch\"
    backend = \"servers\"
    servers = [\"ds1:7041\", \"ds2:7041\", \"ds3:7041\", \"ds4:7041\"]
    servers_key_file = \"/etc/iofwd/servers.key\"";

#[derive(Debug, Args)]
pub(super) struct ServerArguments {
    /// Where names and stripes are kept: a directory of a local file system, made if it is not there
    #[arg(long, value_name = "DIRECTORY", env = "IOFWD_SERVER_DIR")]
    dir: PathBuf,
    /// Where agents connect: ADDRESS:PORT
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:7041",
        env = "IOFWD_SERVER_LISTEN"
    )]
    listen: String,
    /// The key that agents must have too; without one only this node can connect
    #[arg(long, value_name = "FILE", env = "IOFWD_KEY_FILE")]
    key_file: Option<PathBuf>,
    /// Have reads and writes of stripes take as long as on this device: hdd, ssd or null, and what is
    /// different, as in hdd,read=200M,depth=1
    #[arg(long, value_name = "DEVICE", env = "IOFWD_SERVER_DEVICE")]
    device: Option<device::Spec>,
    /// Length of the windows in which agents that meet here are counted; best that of the agents
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = quantity::span)]
    window: Span,
    /// For how long what a client of an agent holds is kept when its agent is gone
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = quantity::span)]
    grace: Span,
    #[command(flatten)]
    log: LogArguments,
}

pub(super) fn run(arguments: &ServerArguments) -> Result<ExitCode, Failure> {
    let settings = settings(arguments)?;
    arguments.log.start()?;
    posix::raise_limit();
    if !Identity::can_be_assumed() {
        let user = nix::unistd::geteuid();
        tracing::warn!("not run as root: all files belong to user {user}, whoever makes them");
    }
    let directory = &arguments.dir;
    let open = |agent: Result<Agent, Errno>| match agent {
        Ok(agent) => Ok(Arc::new(agent) as Arc<dyn Forwarder>),
        Err(errno) => Err(format!("cannot keep anything in {}: {errno}", directory.display())),
    };
    let service = Service::new(settings, &|_, engine, survival| {
        let desk = Desk::new(arguments.device.as_ref(), arguments.window);
        open(Agent::data_server(directory, engine, survival, desk))
    })?;
    agent::serve(&service, &|_| {})
}

/// A data server is an agent with one export, for agents that are trusted with everything.
fn settings(arguments: &ServerArguments) -> Result<Settings, Failure> {
    let path = std::path::absolute(&arguments.dir).map_err(|error| error.to_string())?;
    // A text of JSON is one of TOML, too.
    let quoted = |path: &Path| serde_json::Value::from(path.display().to_string()).to_string();
    let key = match &arguments.key_file {
        Some(file) => {
            let file = std::path::absolute(file).map_err(|error| error.to_string())?;
            format!("key_file = {}\n", quoted(&file))
        }
        None => String::new(),
    };
    let listen = serde_json::Value::from(arguments.listen.as_str());
    let text = format!(
        "listen = [{listen}]\n{key}state = {}\n[limits]\nmemory_per_client = \"256M\"\n\
         grace = \"{}ms\"\n[[export]]\nname = \"{EXPORT}\"\npath = {}\nsquash = \"none\"\n",
        quoted(&path.join("state")),
        arguments.grace.as_nanos() / 1_000_000,
        quoted(&path)
    );
    Settings::parse(&text, "iofwd server").map_err(|error| error.to_string())
}
