//! Four agents, four data servers, and a mount through each agent, all on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use crate::area::Area;
use crate::mounted::Mounted;
use crate::program::{Cache, Program};
use crate::service::{Service, free_port};
use crate::site::Site;
use crate::step::Step;

use super::counts::Counts;

/// Everything that runs. Mounts go first, servers last.
pub(super) struct Cluster<'a> {
    site: &'a Site,
    program: PathBuf,
    mounts: Vec<Mounted<'a>>,
    agents: Vec<Service<'a>>,
    sockets: Vec<String>,
    servers: Vec<Service<'a>>,
    addresses: Vec<String>,
}

impl<'a> Cluster<'a> {
    /// Starts it over what its servers have in an area, with these devices, if there are any.
    pub(super) fn start(
        site: &'a Site,
        program: &Path,
        area: &Area,
        devices: &[String],
    ) -> Result<Self, String> {
        let mut cluster = Self {
            site,
            program: program.to_owned(),
            mounts: Vec::new(),
            agents: Vec::new(),
            sockets: Vec::new(),
            servers: Vec::new(),
            addresses: Vec::new(),
        };
        for number in 0..COUNT {
            let directory = area.backing.join(format!("server-{number}"));
            cluster.start_server(&directory, devices.get(number))?;
        }
        for number in 0..COUNT {
            cluster.start_agent(area, number)?;
        }
        for number in 0..COUNT {
            cluster.mount(area, number)?;
        }
        Ok(cluster)
    }

    fn start_server(&mut self, directory: &Path, device: Option<&String>) -> Result<(), String> {
        let address = format!("127.0.0.1:{}", free_port()?);
        let step = Step::new(&self.program).args(["server", "--listen", &address]);
        let step = step.args(["--window", WINDOW, "--dir"]).arg(directory);
        let step = step.args(device.map(|device| format!("--device={device}")));
        let mut server = Service::start(self.site, "a data server", step)?;
        server.wait_until(|server| server.said().contains("ready"))?;
        self.servers.push(server);
        self.addresses.push(address);
        Ok(())
    }

    fn start_agent(&mut self, area: &Area, number: usize) -> Result<(), String> {
        let socket = format!("unix:{}", area.beside.join(format!("socket-{number}")).display());
        let settings = area.beside.join(format!("agent-{number}.toml"));
        let servers = format!("{:?}", self.addresses);
        let text = format!(
            "listen = [\"{socket}\"]\n[agent]\nindex = {number}\ncount = {COUNT}\n\
             [scheduler]\nwindow = \"{WINDOW}\"\ngather = true\n[[export]]\nname = \"data\"\n\
             backend = \"servers\"\nservers = {servers}\nstripe_size = \"64K\"\nsquash = \"none\"\n"
        );
        fs::write(&settings, text).map_err(|e| format!("{}: {e}", settings.display()))?;
        let step = Step::new(&self.program).args(["agent", "--config"]).arg(&settings);
        let mut agent = Service::start(self.site, "an agent", step)?;
        agent.wait_until(|agent| agent.said().contains("ready"))?;
        self.agents.push(agent);
        self.sockets.push(socket);
        Ok(())
    }

    fn mount(&mut self, area: &Area, number: usize) -> Result<(), String> {
        let point = area.beside.join(format!("mount-{number}"));
        fs::create_dir_all(&point).map_err(|e| format!("{}: {e}", point.display()))?;
        let place = Area { backing: area.backing.clone(), point, beside: area.beside.clone() };
        let source = self.sockets[number].clone();
        let client = Program::Client { path: self.program.clone(), source };
        self.mounts.push(Mounted::with(self.site, &client, &place, Cache::Coherent)?);
        Ok(())
    }

    /// Where the mounts are, that of the first agent first.
    pub(super) fn points(&self) -> Vec<PathBuf> {
        self.mounts.iter().map(|mount| mount.path().to_owned()).collect()
    }

    /// Has all agents order requests so from now on.
    pub(super) fn set_policy(&self, policy: &str) -> Result<(), String> {
        for socket in &self.sockets {
            let step = Step::new(&self.program).args(["ctl", socket, "set"]);
            step.arg(format!("policy={policy}")).limit(20).quiet().run(self.site)?;
        }
        Ok(())
    }

    /// What the servers have counted so far, all together.
    pub(super) fn counts(&self) -> Result<Counts, String> {
        let mut counts = Counts::default();
        for address in &self.addresses {
            let step = Step::new(&self.program).args(["ctl", address, "status"]);
            counts = counts + Counts::parse(&step.limit(20).quiet().run(self.site)?)?;
        }
        Ok(counts)
    }

    /// Ends everything in order.
    pub(super) fn stop(self) -> Result<(), String> {
        self.mounts.into_iter().try_for_each(Mounted::finish)?;
        self.agents.into_iter().try_for_each(Service::stop)?;
        self.servers.into_iter().try_for_each(Service::stop)
    }
}

/// As many servers as agents.
pub(super) const COUNT: usize = 4;
/// Long enough for a disk to get to a place and read what has gathered for it.
pub(super) const WINDOW: &str = "4ms";
