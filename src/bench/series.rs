//! All runs of a call: every setting, alone and together, as often as wanted, in random order.
//! Each round has every kind of run once, so that what drifts meanwhile hits all of them alike.

use std::time::Duration;

use iofwd_scheduler::sim::Random;

use super::conductor::{Measured, Part, conduct};
use super::interrupt;
use super::mounted::Mounted;
use super::plan::{Application, Plan, UNFORWARDED, Work};
use super::progress::Progress;
use super::room::Room;
use super::step::{Step, preparation, steps};
use super::summary::Results;
use super::worker::Site;
use super::{Failure, Stop};

/// Which run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which time everything is done, from 0.
    pub round: u32,
    /// Which of the compared values is mounted.
    pub setting: Option<usize>,
    /// Who runs by itself; nobody if all run together.
    pub alone: Option<usize>,
}

/// A run and what it showed.
#[derive(Clone, Debug)]
pub struct Record {
    /// Which run.
    pub run: Run,
    /// Each application's reading and writing.
    pub measured: Vec<Measured>,
}

/// Does everything that is planned, and cleans up whatever happens.
pub fn perform(plan: Plan) -> Result<Results, Stop> {
    plan.check()?;
    interrupt::watch()?;
    let room = Room::make(&plan)?;
    rehearse(&plan, &room)?;
    let runs = order(&plan);
    let mut progress = Progress::new(total(&plan, &runs));
    prepare(&plan, &room, &mut progress)?;
    let mut records = Vec::with_capacity(runs.len());
    for (number, run) in runs.iter().enumerate() {
        progress.begin(&format!("{}/{} {}", number + 1, runs.len(), title(&plan, run)));
        let measured = one(&plan, run, &room, &mut progress)?;
        records.push(Record { run: *run, measured });
        progress.end(bytes(&plan, &parts(&plan, run)));
    }
    drop(progress);
    let kept = plan.keep.then(|| room.path().to_path_buf());
    drop(room);
    Ok(Results { plan, records, kept })
}

/// Mounts with every value once: one that is refused should not come to light after hours.
fn rehearse(plan: &Plan, room: &Room) -> Result<(), Stop> {
    let values = plan.comparison.as_ref().map_or(0, |comparison| comparison.values.len());
    for setting in 0..values {
        let run = Run { round: 0, setting: Some(setting), alone: None };
        if let Some(options) = mount_options(plan, &run) {
            let mounted = Mounted::mount(room.path(), &options);
            mounted.and_then(Mounted::unmount).map_err(interrupted_or)?;
        }
    }
    Ok(())
}

/// The runs, in the order in which they are done.
fn order(plan: &Plan) -> Vec<Run> {
    let settings: Vec<Option<usize>> = match &plan.comparison {
        Some(comparison) => (0..comparison.values.len()).map(Some).collect(),
        None => vec![None],
    };
    let count = plan.applications.len();
    let mut casts = vec![None];
    if plan.alone && count > 1 {
        casts.extend((0..count).map(Some));
    }
    let mut random = Random::new(plan.seed, ORDER);
    let mut runs = Vec::new();
    for round in 0..plan.repeat {
        let mut block: Vec<Run> = settings
            .iter()
            .flat_map(|setting| casts.iter().map(|cast| (*setting, *cast)))
            .map(|(setting, alone)| Run { round, setting, alone })
            .collect();
        for place in (1..block.len()).rev() {
            block.swap(place, random.below(place as u64 + 1) as usize);
        }
        runs.append(&mut block);
    }
    runs
}

/// One run, through a mount of its own if there is something to compare.
fn one(
    plan: &Plan,
    run: &Run,
    room: &Room,
    progress: &mut Progress,
) -> Result<Vec<Measured>, Stop> {
    if plan.applications.iter().any(|one| one.work != Work::Read) {
        clear_written(plan, room)?;
    }
    let parts = parts(plan, run);
    let Some(options) = mount_options(plan, run) else {
        let site = Site { directories: room.ways(plan)?, backing: None };
        return conduct(plan, &site, &parts, progress);
    };
    let mounted = Mounted::mount(room.path(), &options).map_err(interrupted_or)?;
    let site = Site { directories: vec![mounted.path().into()], backing: Some(room.path().into()) };
    let measured = conduct(plan, &site, &parts, progress)?;
    mounted.unmount().map_err(interrupted_or)?;
    Ok(measured)
}

/// Files that are written anew must not be there; those that are only read stay.
fn clear_written(plan: &Plan, room: &Room) -> Result<(), Failure> {
    let read: Vec<String> = plan
        .applications
        .iter()
        .filter(|one| one.work == Work::Read)
        .flat_map(|one| (0..one.shape.files()).map(|file| one.file_name(file)))
        .collect();
    room.clear(|name| read.iter().any(|kept| name == kept.as_str()))
}

/// Writes what will only be read, once for all runs, and not through a mount.
fn prepare(plan: &Plan, room: &Room, progress: &mut Progress) -> Result<(), Stop> {
    let parts = preparations(plan);
    if parts.is_empty() {
        return Ok(());
    }
    progress.begin("preparing");
    let site = Site { directories: room.ways(plan)?, backing: None };
    conduct(plan, &site, &parts, progress)?;
    progress.end(bytes(plan, &parts));
    Ok(())
}

fn preparations(plan: &Plan) -> Vec<Part> {
    if plan.reuse {
        return Vec::new();
    }
    let part = |(application, one)| {
        let (start, steps) = (Duration::ZERO, preparation(one));
        Part { application, start, steps }
    };
    let parts = plan.applications.iter().enumerate().map(part);
    parts.filter(|part| !part.steps.is_empty()).collect()
}

fn parts(plan: &Plan, run: &Run) -> Vec<Part> {
    let numbered = plan.applications.iter().enumerate();
    let playing = numbered.filter(|(number, _)| run.alone.is_none_or(|alone| alone == *number));
    let part = |(application, one): (usize, &Application)| {
        // Whoever is alone has nobody to be late for.
        let start = if run.alone.is_some() { Duration::ZERO } else { one.start };
        Part { application, start, steps: steps(plan, one) }
    };
    playing.map(part).collect()
}

/// What `iofwd mount -o` is told; nothing if the run is to go to the directory itself.
fn mount_options(plan: &Plan, run: &Run) -> Option<Vec<String>> {
    let comparison = plan.comparison.as_ref()?;
    let value = &comparison.values[run.setting?];
    let mut options = comparison.options.clone();
    options.push(format!("{}={value}", comparison.key));
    (value != UNFORWARDED).then_some(options)
}

fn title(plan: &Plan, run: &Run) -> String {
    let setting = run.setting.zip(plan.comparison.as_ref());
    let setting = setting.map(|(value, comparison)| comparison.values[value].clone());
    let alone = run.alone.map(|alone| format!("{} alone", plan.applications[alone].name));
    setting.into_iter().chain(alone).collect::<Vec<_>>().join(" ")
}

/// All bytes that will be moved.
fn total(plan: &Plan, runs: &[Run]) -> u64 {
    let measured: u64 = runs.iter().map(|run| bytes(plan, &parts(plan, run))).sum();
    measured + bytes(plan, &preparations(plan))
}

fn bytes(plan: &Plan, parts: &[Part]) -> u64 {
    let moving = |part: &Part| part.steps.iter().filter(|step: &&Step| step.task.moves()).count();
    let size = |part: &Part| plan.applications[part.application].shape.bytes();
    parts.iter().map(|part| moving(part) as u64 * size(part)).sum()
}

/// A mount that was disturbed by the same Ctrl-C has not failed.
fn interrupted_or(failure: Failure) -> Stop {
    if interrupt::came() { Stop::Interrupted } else { Stop::Failed(failure) }
}

/// The stream of random numbers that decides the order.
const ORDER: u64 = 0x6f72_6465;

#[cfg(test)]
mod tests {
    use super::super::plan::Comparison;
    use super::super::plan::tests::{application, plan};
    use super::*;

    fn two(repeat: u32) -> Plan {
        let mut plan = plan(vec![application("A", Work::Both), application("B", Work::Read)]);
        plan.repeat = repeat;
        plan.comparison = Some(Comparison {
            key: "policy".into(),
            values: vec!["fifo".into(), UNFORWARDED.into()],
            options: vec!["servers=4".into()],
        });
        plan
    }

    #[test]
    fn every_round_has_every_run_once_in_an_order_of_its_own() {
        let runs = order(&two(4));
        let blocks: Vec<&[Run]> = runs.chunks(6).collect();
        assert_eq!(blocks.len(), 4);
        for (round, block) in (0..).zip(&blocks) {
            for setting in [Some(0), Some(1)] {
                for alone in [None, Some(0), Some(1)] {
                    assert!(block.contains(&Run { round, setting, alone }));
                }
            }
        }
        let kinds = |block: &[Run]| block.iter().map(|run| (run.setting, run.alone)).collect();
        let orders: Vec<Vec<_>> = blocks.iter().map(|block| kinds(block)).collect();
        assert!(orders.iter().any(|order| *order != orders[0]), "the order never changed");
        assert_eq!(order(&two(4)), runs, "the seed decides");
    }

    #[test]
    fn one_application_is_always_alone() {
        let runs = order(&plan(vec![application("A", Work::Both)]));
        assert_eq!(runs, [Run { round: 0, setting: None, alone: None }]);
    }

    #[test]
    fn a_value_is_mounted_unless_it_means_no_mount() {
        let (plan, run) = (two(1), Run { round: 0, setting: Some(0), alone: None });
        assert_eq!(mount_options(&plan, &run).unwrap(), ["servers=4", "policy=fifo"]);
        assert_eq!(mount_options(&plan, &Run { setting: Some(1), ..run }), None);
    }

    #[test]
    fn bytes_are_counted_once_for_every_time_they_move() {
        let plan = two(1);
        let each = plan.applications[0].shape.bytes();
        // Together A writes and reads and B reads; alone they do the same; twice; B is prepared.
        assert_eq!(total(&plan, &order(&plan)), (2 * 2 * 3 + 1) * each);
    }
}
