//! A real agent and the scheduler in virtual time make the same decisions for the same arrivals: under
//! every policy, a recorded run of a random load gives the same batches when it is replayed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::BufReader;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use iofwd::trace::Trace;
use iofwd_scheduler::policy::{self, by_name};
use iofwd_scheduler::record::{Event, replay};
use iofwd_scheduler::sim::Random;

use super::harness::{Mount, program};

/// How often each policy is tried, each time with another load.
const SEEDS: u64 = 4;

/// A load, and the agent it is put on.
#[derive(Debug)]
struct Load {
    threads: u64,
    files: u64,
    block: u64,
    rounds: u64,
    /// Neighbouring ranks at neighbouring offsets, or each rank in a part of its own.
    strided: bool,
    options: Vec<String>,
}

impl Load {
    fn any(random: &mut Random) -> Load {
        let mut any = |from: &[u64]| from[random.below(from.len() as u64) as usize];
        let options = vec![
            format!("--servers={}", any(&[1, 2, 4, 5])),
            format!("--stripe={}", any(&[4096, 16384, 65536])),
            format!("--depth={}", any(&[1, 2, 8])),
            format!("--window={}us", any(&[100, 500, 2000])),
        ];
        Load {
            threads: any(&[2, 4, 6]),
            files: any(&[1, 1, 3]),
            block: any(&[1000, 3000, 4096, 20_000]),
            rounds: any(&[10, 25]),
            strided: any(&[0, 1]) == 1,
            options,
        }
    }

    fn put_on(&self, mount: &Mount) {
        thread::scope(|scope| {
            for rank in 0..self.threads {
                let path = mount.path().join(format!("file{}", rank % self.files));
                scope.spawn(move || self.write_and_read(rank, &path));
            }
        });
    }

    fn write_and_read(&self, rank: u64, path: &Path) {
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).read(true).write(true).open(path);
        let file = file.expect("the mount takes files");
        let mut block = vec![rank as u8; self.block as usize];
        for round in 0..self.rounds {
            let place = match self.strided {
                true => round * self.threads + rank,
                false => rank * self.rounds + round,
            };
            file.write_all_at(&block, place * self.block).expect("the mount takes bytes");
            file.read_exact_at(&mut block, place * self.block).expect("the mount gives bytes");
            assert!(block.iter().all(|byte| *byte == rank as u8), "rank {rank}, round {round}");
        }
    }
}

fn replayed(recording: &Path) -> Output {
    let arguments = [OsStr::new("replay"), recording.as_os_str()];
    Command::new(program()).args(arguments).output().expect("the program can be run")
}

fn read(recording: &Path) -> Trace {
    let file = File::open(recording).expect("it was written");
    Trace::read(BufReader::new(file)).expect("it is whole")
}

/// Every request that was submitted was issued in one batch of the recording, and none beside: nothing
/// that the agent did passed the recording by.
fn check_completeness(trace: &Trace) -> usize {
    let (mut submitted, mut issued, mut batches) = (BTreeSet::new(), BTreeSet::new(), 0);
    for event in &trace.events {
        match event {
            Event::Submit(_, request) => assert!(submitted.insert(request.id.0), "{event:?}"),
            Event::Issue(_, ids) => {
                batches += 1;
                ids.iter().for_each(|id| assert!(issued.insert(id.0), "{event:?}"));
            }
            Event::Wait(..) | Event::Complete(..) | Event::Cancel(..) => {}
            Event::Direct(..) | Event::Grow(..) => {}
        }
    }
    assert_eq!(submitted, issued);
    batches
}

#[test]
fn a_recorded_run_gives_the_same_batches_when_it_is_replayed() {
    for (number, entry) in policy::ALL.iter().enumerate() {
        for seed in 0..SEEDS {
            let load = Load::any(&mut Random::new(seed, number as u64));
            let room = tempfile::tempdir().unwrap();
            let recording = room.path().join("recording");
            let mut options = load.options.clone();
            options.push(format!("--record={}", recording.display()));
            options.push(format!("--policy={}", entry.name));
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let Some(mount) = Mount::start(&options) else { return };
            load.put_on(&mount);
            drop(mount);
            let output = replayed(&recording);
            let said = String::from_utf8_lossy(&output.stdout);
            let complaint = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{} {load:?}: {complaint}", entry.name);
            let batches = check_completeness(&read(&recording));
            assert!(said.contains(&format!("{batches} batches, all as recorded")), "{said}");
            assert!(batches as u64 >= load.rounds, "{} {load:?}: {batches}", entry.name);
        }
    }
}

#[test]
fn a_replay_with_another_policy_or_another_batch_is_noticed() {
    let room = tempfile::tempdir().unwrap();
    let recording = room.path().join("recording");
    let record = format!("--record={}", recording.display());
    let options = [&*record, "--policy=twins", "--window=500us", "--servers=4", "--stripe=4096"];
    let Some(mount) = Mount::start(&options) else { return };
    Load { strided: true, ..Load::any(&mut Random::new(9, 9)) }.put_on(&mount);
    drop(mount);
    let trace = read(&recording);
    let config = &trace.header.config;
    let twins = by_name("twins", &config.setup).unwrap();
    assert_eq!(replay(config, twins, &trace.events), Ok(check_completeness(&trace)));
    let fifo = by_name("fifo", &config.setup).unwrap();
    assert!(replay(config, fifo, &trace.events).is_err(), "FIFO does not wait for windows");
    let text = fs::read_to_string(&recording).unwrap();
    let issue = text.lines().position(|line| line.starts_with("I ")).unwrap();
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    lines[issue].push_str(" 999999");
    fs::write(&recording, lines.join("\n")).unwrap();
    let output = replayed(&recording);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("999999"));
}
