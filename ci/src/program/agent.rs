//! An agent in a process of its own, exporting one directory to clients on this machine.

use std::fs;
use std::path::Path;

use crate::area::Area;
use crate::program::Transport;
use crate::service::{Service, free_port};
use crate::site::Site;
use crate::step::Step;

/// A running agent.
pub(crate) struct Agent<'a> {
    pub(crate) service: Service<'a>,
    /// What its clients mount.
    pub(crate) source: String,
}

impl<'a> Agent<'a> {
    /// Exports the directory of an area, root being root, as the judges want it.
    pub(crate) fn start(
        site: &'a Site,
        program: &Path,
        area: &Area,
        transport: Transport,
        more_settings: &str,
    ) -> Result<Self, String> {
        let (listen, source) = match transport {
            Transport::Unix => {
                let socket = format!("unix:{}", area.beside.join("socket").display());
                (socket.clone(), socket)
            }
            Transport::Tcp | Transport::Servers(_) => {
                let address = format!("127.0.0.1:{}", free_port()?);
                (address.clone(), format!("{address}/{EXPORT}"))
            }
        };
        let settings = area.beside.join("agent.toml");
        let (backing, state) = (area.backing.display(), area.beside.join("state"));
        let text = format!(
            "listen = [\"{listen}\"]\nstate = {state:?}\n\n[[export]]\nname = \"{EXPORT}\"\npath = \"{backing}\"\n\
             squash = \"none\"\n\n{more_settings}"
        );
        fs::write(&settings, text).map_err(|e| format!("{}: {e}", settings.display()))?;
        let step = Step::new(program).args(["agent", "--config"]).arg(&settings);
        let mut service = Service::start(site, "the agent", step)?;
        service.wait_until(|agent| agent.said().contains("ready"))?;
        Ok(Self { service, source })
    }
}

const EXPORT: &str = "data";
