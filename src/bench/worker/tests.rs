//! One process at work on real files, with all gates open: what it finds when bytes are wrong.

use std::fs;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use super::super::board::Board;
use super::super::pattern::{Pattern, Shape};
use super::super::plan::tests::{application, plan};
use super::super::plan::{Plan, Work};
use super::super::step::{Step, Task};
use super::*;

const REQUEST: usize = 4096;

/// A directory with a plan for one process that goes through one file of eight requests.
struct Bench {
    plan: Plan,
    site: Site,
    _room: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let room = tempfile::tempdir().unwrap();
        let mut one = application("A", Work::Both);
        one.shape = Shape::new(Pattern::Random, 1, 8, REQUEST as u64, 1);
        one.periods = 2;
        let mut plan = plan(vec![one]);
        plan.verify = true;
        let site = Site { directories: vec![room.path().into()], backing: None };
        Bench { plan, site, _room: room }
    }

    fn run(&self, task: Task, pass: u64) -> Result<End, Failure> {
        let board = Board::new(1, 1).unwrap();
        board.open(0);
        board.open(0);
        let worker = Worker {
            plan: &self.plan,
            site: &self.site,
            board: &board,
            clock: Instant::now(),
            steps: &[Step { task, pass }],
            application: 0,
            gate: 0,
            rank: 0,
            slot: 0,
        };
        let end = worker.work();
        if end.is_ok() && task != Task::Settle {
            assert_eq!(board.slot(0).moved.load(Relaxed), 8 * REQUEST as u64);
        }
        end
    }

    fn file(&self) -> File {
        let path = self.site.directories[0].join("A.shared");
        OpenOptions::new().read(true).write(true).open(path).unwrap()
    }

    fn block(&self, number: usize) -> [u8; REQUEST] {
        let mut block = [0; REQUEST];
        self.file().read_exact_at(&mut block, (number * REQUEST) as u64).unwrap();
        block
    }

    fn plant(&self, number: usize, bytes: &[u8]) {
        self.file().write_all_at(bytes, (number * REQUEST) as u64).unwrap();
    }

    /// What the second pass is found to be.
    fn told(&self) -> String {
        match self.run(Task::Read, 2).unwrap() {
            End::Wrong(told) => told,
            End::Well => panic!("nothing was found"),
        }
    }
}

#[test]
fn what_was_written_or_prepared_is_right() {
    let bench = Bench::new();
    assert_eq!(bench.run(Task::Prepare, 1), Ok(End::Well));
    assert_eq!(bench.run(Task::Read, 1), Ok(End::Well));
    assert_eq!(bench.run(Task::Write, 2), Ok(End::Well));
    assert_eq!(bench.run(Task::Settle, 2), Ok(End::Well));
    assert_eq!(bench.run(Task::Check, 2), Ok(End::Well));
}

#[test]
fn a_stale_block_is_named() {
    let bench = Bench::new();
    bench.run(Task::Write, 1).unwrap();
    let old = bench.block(3);
    bench.run(Task::Write, 2).unwrap();
    bench.plant(3, &old);
    let told = bench.told();
    for part in [
        "A.shared: wrong byte at offset 122",
        "stale, it belongs to A.shared, offset 12288, write 1",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_misplaced_block_is_named() {
    let bench = Bench::new();
    bench.run(Task::Write, 2).unwrap();
    bench.plant(5, &bench.block(1));
    let told = bench.told();
    assert!(told.contains("misplaced, it belongs to A.shared, offset 4096, write 2"), "{told}");
}

#[test]
fn a_lost_block_and_a_strange_byte_are_told_apart() {
    let bench = Bench::new();
    bench.run(Task::Write, 2).unwrap();
    let right = bench.block(0);
    bench.plant(0, &[0; REQUEST]);
    assert!(bench.told().contains("it is zero: never written, or lost"));
    let mut strange = right;
    strange[100] ^= 1;
    bench.plant(0, &strange);
    let told = bench.told();
    for part in ["offset 100:", "nothing that this run has written", "; 1 wrong bytes in all"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let expected = format!("{:#04x} instead of {:#04x}", strange[100], right[100]);
    assert!(told.contains(&expected), "{expected}: {told}");
}

#[test]
fn a_file_that_ends_early_is_a_failure() {
    let bench = Bench::new();
    bench.run(Task::Write, 1).unwrap();
    bench.file().set_len(5 * REQUEST as u64 + 17).unwrap();
    let told = bench.run(Task::Read, 1).unwrap_err();
    assert!(told.contains("A.shared: read of 4096 bytes at offset"), "{told}");
    fs::remove_file(bench.site.directories[0].join("A.shared")).unwrap();
    assert!(bench.run(Task::Read, 1).unwrap_err().contains("cannot open"));
}

#[test]
fn a_stopped_process_does_nothing_more() {
    let bench = Bench::new();
    let board = Board::new(1, 1).unwrap();
    board.stop();
    let steps = [Step { task: Task::Write, pass: 1 }];
    let worker = Worker {
        plan: &bench.plan,
        site: &bench.site,
        board: &board,
        clock: Instant::now(),
        steps: &steps,
        application: 0,
        gate: 0,
        rank: 0,
        slot: 0,
    };
    assert_eq!(worker.work(), Ok(End::Well));
    assert_eq!(fs::read_dir(&bench.site.directories[0]).unwrap().count(), 0);
}
