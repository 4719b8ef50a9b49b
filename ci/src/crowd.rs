//! A crowd: 256 clients of one agent, four busy processes on each, against eight such clients. No
//! error, memory within what the agent's settings allow, and no less done than by the few.

pub(crate) mod pound;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::area::Area;
use crate::judge::peak_kib;
use crate::mounted::Mounted;
use crate::program::{Agent, Cache, Program, Transport};
use crate::service::Service;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};

pub(crate) fn crowd(site: &Site) -> Verdict {
    let (Program::Iofwd(program) | Program::Remote { path: program, .. }) = site.program()? else {
        return Ok(Outcome::Skipped("only the program itself has an agent".into()));
    };
    let few = measure(site, &program, FEW)?;
    let many = measure(site, &program, MANY)?;
    let ratio = many.operations / few.operations;
    let note = format!(
        "{MANY} clients {:.0}/s, {FEW} clients {:.0}/s, ratio {ratio:.2}; the agent took at most \
         {} MiB of {BOUND_MIB}",
        many.operations,
        few.operations,
        many.peak_kib / 1024
    );
    if ratio >= NOT_BELOW && many.peak_kib <= BOUND_MIB * 1024 {
        Ok(Outcome::Passed(note))
    } else {
        Err(note)
    }
}

/// What so many clients did, and what it took.
struct Load {
    /// Per second, all together.
    operations: f64,
    peak_kib: u64,
}

fn measure(site: &Site, program: &Path, clients: usize) -> Result<Load, String> {
    let area = Area::in_memory(site, &format!("crowd-{clients}"))?;
    let agent = Agent::start(site, program, &area, Transport::Unix, &settings())?;
    let mounts: Vec<_> = (0..clients)
        .map(|number| mount(site, program, &agent.source, &area, number))
        .collect::<Result<_, _>>()?;
    println!("   {clients} clients are mounted");
    let points: Vec<_> = mounts.iter().map(Mounted::path).collect();
    let operations = pound(site, &points)?;
    let peak_kib = peak_kib(agent.service.process())?;
    println!("   {clients} clients: {operations:.0}/s, the agent took {} MiB", peak_kib / 1024);
    for mount in mounts {
        mount.finish()?;
    }
    agent.service.stop()?;
    area.clear();
    Ok(Load { operations, peak_kib })
}

fn settings() -> String {
    format!("[limits]\nmemory = \"{MEMORY_MIB}M\"\nmemory_per_client = \"4M\"\n")
}

fn mount<'a>(
    site: &'a Site,
    program: &Path,
    source: &str,
    area: &Area,
    number: usize,
) -> Result<Mounted<'a>, String> {
    let point = area.beside.join(format!("client-{number}"));
    std::fs::create_dir(&point).map_err(|e| format!("{}: {e}", point.display()))?;
    let place = Area { backing: area.backing.clone(), point, beside: area.beside.clone() };
    let client = Program::Client { path: program.to_owned(), source: source.to_owned() };
    Mounted::with(site, &client, &place, Cache::Coherent)
}

/// Four processes on each mount, all at the same time; how much they did per second.
fn pound(site: &Site, points: &[&Path]) -> Result<f64, String> {
    let number = points.len() * PROCESSES;
    let window = pound::Window::soon(number, WINDOW);
    let start = |number: usize| {
        let directory: PathBuf = points[number % points.len()].join(format!("process-{number}"));
        Service::start(site, "a process of the crowd", pound::step(&directory, &window)?.quiet())
    };
    let crowd: Vec<_> = (0..number).map(start).collect::<Result<_, _>>()?;
    window.wait_for_the_end();
    let mut operations = 0;
    for process in crowd {
        operations += process.result()?.trim().parse::<u64>().map_err(|e| format!("pound: {e}"))?;
    }
    Ok(operations as f64 / WINDOW.as_secs_f64())
}

const FEW: usize = 8;
const MANY: usize = 256;
const PROCESSES: usize = 4;
const WINDOW: Duration = Duration::from_secs(60);

/// What the agent may hold for its clients,
const MEMORY_MIB: u64 = 256;
/// and with the program itself, its threads and its notes about each client.
const BOUND_MIB: u64 = MEMORY_MIB + 128;
/// Two runs of the same differ by as much.
const NOT_BELOW: f64 = 0.95;
