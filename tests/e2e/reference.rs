//! Random operations on the mount and on a plain directory of the same file system: every result,
//! errors included, and the whole state after every step must be the same.
//!
//! The seed is printed; `IOFWD_SEED` sets it, and `IOFWD_CASES` how many sequences are tried. A
//! sequence that shows a difference is shortened before it is shown.

mod attribute;
mod operation;
mod side;
mod state;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use super::harness::Mount;
use operation::{Holes, Operation, operations};
use side::Side;

#[test]
fn a_coherent_mount_behaves_like_the_directory() {
    compare("coherent", Holes::Asked, 60);
}

#[test]
fn a_close_to_open_mount_behaves_like_the_directory_to_its_only_client() {
    compare("close-to-open", Holes::Asked, 30);
}

/// Where the kernel has not written back yet, it asks the file system about holes all the same;
/// so nobody can promise anything about them in this mode.
#[test]
fn an_exclusive_mount_behaves_like_the_directory() {
    compare("exclusive", Holes::NotAsked, 30);
}

/// What is found must be the mount's doing: two plain directories show no difference.
#[test]
fn a_directory_behaves_like_another() {
    let room = tempfile::tempdir().expect("a temporary directory can be made");
    try_sequences("two directories", Holes::Asked, 10, |name, operations| {
        run(&room.path().join("one").join(name), &room.path().join("two").join(name), operations)
    });
}

fn compare(cache: &str, holes: Holes, cases: u32) {
    let Some(mount) = Mount::start(&[&format!("--cache={cache}")]) else { return };
    let tried = try_sequences(cache, holes, cases, |name, operations| {
        run(&mount.path().join(name), &mount.plain().join(name), operations)
    });
    let seen = fs::read_dir(mount.backing()).expect("it is still there").count();
    assert_eq!(seen, tried, "each sequence had a directory of its own");
}

/// Tries sequences until one shows a difference; says how many there were.
fn try_sequences(
    what: &str,
    holes: Holes,
    cases: u32,
    run: impl Fn(&str, &[Operation]) -> Result<(), TestCaseError>,
) -> usize {
    let seed = from_environment("IOFWD_SEED").unwrap_or(DEFAULT_SEED);
    let cases = from_environment("IOFWD_CASES").map_or(cases, |cases| cases as u32);
    println!("{what}: seed {seed}, {cases} sequences of up to {STEPS} steps");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let number = AtomicUsize::new(0);
    let outcome = TestRunner::new_with_rng(config, random).run(
        &vec(operations(holes), 1..=STEPS),
        |operations| {
            let name = format!("case-{}", number.fetch_add(1, Ordering::Relaxed));
            run(&name, &operations)
        },
    );
    match outcome {
        Ok(()) => number.into_inner(),
        Err(TestError::Fail(why, operations)) => {
            let trace: Vec<_> = operations.iter().map(|one| format!("  {one:?}")).collect();
            panic!("{what}, seed {seed}: {why}\nafter these steps:\n{}", trace.join("\n"));
        }
        Err(TestError::Abort(why)) => panic!("{what}, seed {seed}: {why}"),
    }
}

/// Does all of it on both sides, and fails at the first difference.
fn run(mounted: &Path, plain: &Path, operations: &[Operation]) -> Result<(), TestCaseError> {
    let (mut mounted, mut plain) = (Side::new(mounted), Side::new(plain));
    for (step, operation) in operations.iter().enumerate() {
        let (on_mount, on_plain) = (mounted.apply(operation), plain.apply(operation));
        if on_mount != on_plain {
            return Err(TestCaseError::fail(format!(
                "step {step}, {operation:?}: the mount answers {on_mount}, the directory {on_plain}"
            )));
        }
        if let Some(difference) = state::difference(&mounted.state(), &plain.state()) {
            let text = format!("step {step}, {operation:?}, afterwards: {difference}");
            return Err(TestCaseError::fail(text));
        }
    }
    Ok(())
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

const DEFAULT_SEED: u64 = 20_161_114;
const STEPS: usize = 100;
