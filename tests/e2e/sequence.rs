//! Random operations of one or several clients on what is judged and on a plain directory of the
//! same file system: every result, errors included, and the whole state must be the same.
//!
//! The seed is printed; `IOFWD_SEED` sets it, and `IOFWD_CASES` how many sequences are tried. A
//! sequence that shows a difference is shortened before it is shown.

mod attribute;
mod lock;
mod operation;
mod side;
mod state;
mod trial;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::collection::vec;
use proptest::prelude::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

pub(crate) use operation::Holes;
use operation::{Operation, operations};
pub(crate) use trial::Trial;

/// What one of the clients does.
#[derive(Clone)]
pub(crate) struct Step {
    client: usize,
    operation: Operation,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}: {:?}", self.client, self.operation)
    }
}

/// What sequences are tried, and how many.
pub(crate) struct Sequences<'a> {
    /// What is judged, for whoever reads the output.
    pub(crate) what: &'a str,
    pub(crate) clients: usize,
    pub(crate) holes: Holes,
    pub(crate) cases: u32,
}

impl Sequences<'_> {
    /// Tries them, each under a name of its own, until one shows a difference; says how many there
    /// were.
    pub(crate) fn each(&self, run: impl Fn(&str, &[Step]) -> Result<(), TestCaseError>) -> usize {
        let Self { what, clients, holes, .. } = *self;
        let seed = from_environment("IOFWD_SEED").unwrap_or(DEFAULT_SEED);
        let cases = from_environment("IOFWD_CASES").map_or(self.cases, |cases| cases as u32);
        println!("{what}: seed {seed}, {cases} sequences of up to {STEPS} steps");
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let number = AtomicUsize::new(0);
        let step = (0..clients, operations(holes))
            .prop_map(|(client, operation)| Step { client, operation });
        let outcome =
            TestRunner::new_with_rng(config, random(seed)).run(&vec(step, 1..=STEPS), |steps| {
                let name = format!("case-{}", number.fetch_add(1, Ordering::Relaxed));
                run(&name, &steps)
            });
        match outcome {
            Ok(()) => number.into_inner(),
            Err(TestError::Fail(why, steps)) => {
                let trace: Vec<_> = steps.iter().map(|one| format!("  {one:?}")).collect();
                panic!("{what}, seed {seed}: {why}\nafter these steps:\n{}", trace.join("\n"));
            }
            Err(TestError::Abort(why)) => panic!("{what}, seed {seed}: {why}"),
        }
    }
}

fn random(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

const DEFAULT_SEED: u64 = 20_161_114;
const STEPS: usize = 100;
