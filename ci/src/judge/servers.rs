//! The judges on files striped over four data servers, through two agents: stripes of 64 KiB, and of
//! 4 KiB to provoke.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::area::Area;
use crate::judge::{fio, fsx, pjdfstest};
use crate::mounted::Mounted;
use crate::program::{Cache, Cluster, Program, Transport};
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn servers_pjdfstest(site: &Site) -> Verdict {
    with_each_stripe(site, &|| pjdfstest::judge(site, &[Cache::Coherent]))
}

pub(crate) fn servers_fio(site: &Site) -> Verdict {
    with_each_stripe(site, &|| fio::judge(site, &[Cache::Coherent]).map(|()| fio::SIZES.into()))
}

fn with_each_stripe(site: &Site, judge: &dyn Fn() -> Result<String, String>) -> Verdict {
    let mut found = String::new();
    for stripe in STRIPES {
        found = site
            .through(Transport::Servers(stripe), judge)
            .map_err(|why| format!("stripes of {stripe}: {why}"))?;
    }
    Ok(Outcome::Passed(format!("stripes of {}: {found}", STRIPES.join(" and "))))
}

/// fsx through each agent at the same time, while a server is killed and comes back after two seconds.
pub(crate) fn servers_fsx(site: &Site) -> Verdict {
    for (seed, stripe) in (1..).zip(STRIPES) {
        let judged = on_dying_servers(site, stripe, seed);
        judged.map_err(|why| format!("stripes of {stripe}: {why}"))?;
    }
    let kills = DEATHS.len();
    Ok(Outcome::Passed(format!(
        "{OPERATIONS} operations through each of two agents, {kills} servers killed meanwhile, \
         stripes of {}, and names and objects agree",
        STRIPES.join(" and ")
    )))
}

fn on_dying_servers(site: &Site, stripe: &str, seed: u32) -> Result<(), String> {
    let Program::Iofwd(program) = site.program()? else {
        return Err("only the program itself has data servers".into());
    };
    let area = Area::in_memory(site, &format!("servers-fsx-{stripe}"))?;
    let second = Area::in_memory(site, &format!("servers-fsx-{stripe}-second"))?;
    let settings = area.beside.join("fsx.toml");
    fs::write(&settings, fsx::SETTINGS).map_err(|e| format!("{}: {e}", settings.display()))?;
    let mut cluster = Cluster::start(site, &program, &area, stripe, NO_WINDOWS)?;
    let client = |number: usize, area: &Area| {
        let source = cluster.sources[number].clone();
        let program = Program::Client { path: program.clone(), source };
        Mounted::with(site, &program, area, Cache::Coherent)
    };
    let mounts = [client(0, &area)?, client(1, &second)?];
    thread::scope(|scope| {
        let judges: Vec<_> = (seed..)
            .zip(&mounts)
            .map(|(seed, mounted)| {
                let file = mounted.path().join(format!("file-{seed}"));
                let step = Step::new(site.tool("fsx")?).arg("-f").arg(&settings);
                let step = step.arg("-P").arg(&area.beside).args(["-S", &seed.to_string()]);
                let step = step.args(["-N", &OPERATIONS.to_string()]).arg(file).limit(300);
                Ok(scope.spawn(move || step.run(site).map(drop)))
            })
            .collect::<Result<_, String>>()?;
        let killed = kill_in_turn(&mut cluster);
        let judged = judges.into_iter().map(|one| one.join().unwrap_or(Err("it panicked".into())));
        judged.collect::<Vec<_>>().into_iter().collect::<Result<Vec<()>, String>>()?;
        killed
    })?;
    mounts.into_iter().try_for_each(Mounted::finish)?;
    cluster.check()?;
    cluster.stop()?;
    area.clear();
    second.clear();
    Ok(())
}

fn kill_in_turn(cluster: &mut Cluster<'_>) -> Result<(), String> {
    for number in DEATHS {
        thread::sleep(Duration::from_secs(2));
        cluster.kill(number);
        thread::sleep(Duration::from_secs(2));
        cluster.restart(number)?;
    }
    Ok(())
}

const STRIPES: [&str; 2] = ["64K", "4K"];
const OPERATIONS: u32 = 6_000;
/// These servers die, one after the other.
const DEATHS: [usize; 2] = [2, 1];
/// fsx waits for every operation: a window for each server would only make it slow.
const NO_WINDOWS: &str = "[scheduler]\npolicy = \"fifo\"\n";
