//! Two data servers, one of them slow, an agent over them, a client of it; whole files on each.

use std::fs;
use std::path::{Path, PathBuf};

use crate::area::Area;
use crate::judge::peak_kib;
use crate::mounted::Mounted;
use crate::program::{Cache, Program};
use crate::service::{Service, free_port};
use crate::site::Site;
use crate::step::Step;

/// Everything that runs.
pub(super) struct Scene<'a> {
    mount: Mounted<'a>,
    agent: Service<'a>,
    servers: [Service<'a>; 2],
}

impl<'a> Scene<'a> {
    pub(super) fn start(site: &'a Site, program: &Path, area: &Area) -> Result<Self, String> {
        let [first, second] =
            [None, Some(SLOW)].map(|device| start_server(site, program, area, device));
        let ((first, one), (second, other)) = (first?, second?);
        let socket = format!("unix:{}", area.beside.join("socket").display());
        let settings = area.beside.join("agent.toml");
        let text = format!(
            "listen = [\"{socket}\"]\n[scheduler]\npolicy = \"fifo\"\n[[export]]\nname = \"data\"\n\
             backend = \"servers\"\nservers = {:?}\nstripe_count = 1\nsquash = \"none\"\n",
            [one, other]
        );
        fs::write(&settings, text).map_err(|e| format!("{}: {e}", settings.display()))?;
        let step = Step::new(program).args(["agent", "--config"]).arg(&settings);
        let mut agent = Service::start(site, "the agent", step)?;
        agent.wait_until(|agent| agent.said().contains("ready"))?;
        let client = Program::Client { path: program.to_owned(), source: socket };
        let mount = Mounted::with(site, &client, area, Cache::Coherent)?;
        Ok(Self { mount, agent, servers: [first, second] })
    }

    /// Files on the first server, and on the slow one; at least so many of each.
    pub(super) fn files(&self, area: &Area, least: usize) -> Result<[Vec<PathBuf>; 2], String> {
        let mut files = [Vec::new(), Vec::new()];
        for number in 0.. {
            let path = self.mount.path().join(format!("file-{number}"));
            fs::write(&path, b"where is it?").map_err(|e| format!("{}: {e}", path.display()))?;
            let objects = files_below(&directory(area, Some(SLOW)).join("objects"));
            files[usize::from(objects > files[1].len())].push(path);
            if files.iter().all(|some| some.len() >= least) {
                break;
            }
        }
        Ok(files)
    }

    /// The most memory that the client, the agent and the slow server ever took.
    pub(super) fn peaks_mib(&self) -> Result<[u64; 3], String> {
        let client = self.mount.process().ok_or("nothing is mounted")?;
        let [client, agent, server] =
            [client, self.agent.process(), self.servers[1].process()].map(peak_kib);
        Ok([client? / 1024, agent? / 1024, server? / 1024])
    }

    pub(super) fn stop(self) -> Result<(), String> {
        self.mount.finish()?;
        self.agent.stop()?;
        self.servers.into_iter().try_for_each(Service::stop)
    }
}

/// A server, and where it is.
fn start_server<'a>(
    site: &'a Site,
    program: &Path,
    area: &Area,
    device: Option<&str>,
) -> Result<(Service<'a>, String), String> {
    let address = format!("127.0.0.1:{}", free_port()?);
    let step = Step::new(program).args(["server", "--listen", &address, "--dir"]);
    let step = step.arg(directory(area, device));
    let step = step.args(device.map(|device| format!("--device={device}")));
    let mut server = Service::start(site, "a data server", step)?;
    server.wait_until(|server| server.said().contains("ready"))?;
    Ok((server, address))
}

fn directory(area: &Area, device: Option<&str>) -> PathBuf {
    area.backing.join(if device.is_some() { "slow" } else { "quick" })
}

fn files_below(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files_below(&entry.path()) } else { 1 }).sum()
}

/// Eight mebibytes in a second, one write at a time.
const SLOW: &str = "null,write=8M,read=8M";
