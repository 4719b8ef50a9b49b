//! Four data servers and two agents over them, all on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use crate::area::Area;
use crate::service::{Service, free_port};
use crate::site::Site;
use crate::step::Step;

/// Running servers and agents of one file system.
pub(crate) struct Cluster<'a> {
    site: &'a Site,
    program: PathBuf,
    servers: Vec<Server<'a>>,
    agents: Vec<Service<'a>>,
    /// What clients mount: one for each agent.
    pub(crate) sources: Vec<String>,
}

struct Server<'a> {
    service: Option<Service<'a>>,
    address: String,
    directory: PathBuf,
}

impl<'a> Cluster<'a> {
    /// Starts them with their files in an area, with stripes of that size.
    pub(crate) fn start(
        site: &'a Site,
        program: &Path,
        area: &Area,
        stripe: &str,
        more_settings: &str,
    ) -> Result<Self, String> {
        let mut cluster = Self {
            site,
            program: program.to_owned(),
            servers: Vec::new(),
            agents: Vec::new(),
            sources: Vec::new(),
        };
        for number in 0..SERVERS {
            let address = format!("127.0.0.1:{}", free_port()?);
            let directory = area.beside.join(format!("server-{number}"));
            cluster.servers.push(Server { service: None, address, directory });
            cluster.restart(number)?;
        }
        for number in 0..AGENTS {
            let settings = area.beside.join(format!("agent-{number}.toml"));
            cluster.start_agent(&settings, stripe, more_settings)?;
        }
        Ok(cluster)
    }

    fn start_agent(&mut self, file: &Path, stripe: &str, more: &str) -> Result<(), String> {
        let address = format!("127.0.0.1:{}", free_port()?);
        let servers: Vec<_> =
            self.servers.iter().map(|server| format!("\"{}\"", server.address)).collect();
        let text = format!(
            "listen = [\"{address}\"]\n\n{more}\n[[export]]\nname = \"data\"\nsquash = \"none\"\n\
             backend = \"servers\"\nservers = [{}]\nstripe_size = \"{stripe}\"\n",
            servers.join(", ")
        );
        fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        let step = Step::new(&self.program).args(["agent", "--config"]).arg(file);
        let mut service = Service::start(self.site, "an agent", step)?;
        service.wait_until(|agent| agent.said().contains("ready"))?;
        self.agents.push(service);
        self.sources.push(format!("{address}/data"));
        Ok(())
    }

    /// Ends a server as a crash would.
    pub(crate) fn kill(&mut self, number: usize) {
        if let Some(mut service) = self.servers[number].service.take() {
            service.kill();
        }
    }

    /// Starts a server, with what it had before.
    pub(crate) fn restart(&mut self, number: usize) -> Result<(), String> {
        let server = &mut self.servers[number];
        let step = Step::new(&self.program).args(["server", "--dir"]).arg(&server.directory);
        let step = step.args(["--listen", &server.address]).quiet();
        let mut service = Service::start(self.site, "a data server", step)?;
        service.wait_until(|server| server.said().contains("ready"))?;
        server.service = Some(service);
        Ok(())
    }

    /// Whether names, sizes and objects agree.
    pub(crate) fn check(&self) -> Result<(), String> {
        let list: Vec<_> = self.servers.iter().map(|server| server.address.as_str()).collect();
        Step::new(&self.program).arg("check").arg(list.join(",")).run(self.site).map(drop)
    }

    /// Ends all of them in order, and sees them end well.
    pub(crate) fn stop(self) -> Result<(), String> {
        self.agents.into_iter().try_for_each(Service::stop)?;
        self.servers.into_iter().filter_map(|server| server.service).try_for_each(Service::stop)
    }
}

const SERVERS: usize = 4;
const AGENTS: usize = 2;
