//! One sequence on both sides: what is judged, as each client sees it, and the plain directory, as
//! as many programs on one machine see it.

use std::path::{Path, PathBuf};

use proptest::test_runner::TestCaseError;

use super::Step;
use super::side::Side;
use super::state;

/// The clients of both sides.
pub(crate) struct Trial {
    judged: Vec<Side>,
    model: Vec<Side>,
    /// Where all clients of the judged side must see one and the same tree.
    backing: Option<PathBuf>,
    /// After how many steps the whole state is compared.
    pace: usize,
}

impl Trial {
    /// One client, its whole state compared after every step.
    pub(crate) fn of_one(judged: &Path, plain: &Path) -> Self {
        let (judged, model) = (vec![Side::new(judged)], vec![Side::new(plain)]);
        Self { judged, model, backing: None, pace: 1 }
    }

    /// Several clients of one backing, compared after every few steps, and at the end.
    pub(crate) fn of_several(judged: &[PathBuf], backing: PathBuf, plain: &Path) -> Self {
        let mut model = vec![Side::new(plain)];
        model.extend(judged[1..].iter().map(|_| Side::of(plain)));
        let first = std::iter::once(Side::new(&judged[0]));
        let judged = first.chain(judged[1..].iter().map(|room| Side::of(room))).collect();
        Self { judged, model, backing: Some(backing), pace: FEW }
    }

    /// Does all of it on both sides, and fails at the first difference.
    pub(crate) fn run(mut self, steps: &[Step]) -> Result<(), TestCaseError> {
        for (number, step) in (1..).zip(steps) {
            let Step { client, operation } = step;
            let answer = self.judged[*client].apply(operation);
            let expected = self.model[*client].apply(operation);
            if answer != expected {
                return Err(TestCaseError::fail(format!(
                    "step {number}, {step:?}: the mount answers {answer}, the directory {expected}"
                )));
            }
            if (number % self.pace == 0 || number == steps.len())
                && let Some(difference) = self.difference()
            {
                let text = format!("after step {number}, {step:?}: {difference}");
                return Err(TestCaseError::fail(text));
            }
        }
        Ok(())
    }

    /// The first difference between the sides, or between the clients and the backing.
    fn difference(&self) -> Option<String> {
        for (number, (judged, model)) in self.judged.iter().zip(&self.model).enumerate() {
            let found = state::difference(&judged.state(), &model.state());
            if let Some(difference) = found {
                return Some(format!("client {number} sees another state: {difference}"));
            }
        }
        let one = state::exact(self.backing.as_deref()?);
        for (number, judged) in self.judged.iter().enumerate() {
            if let Some(difference) = state::difference(&state::exact(judged.room()), &one) {
                return Some(format!(
                    "client {number} sees what the backing has not: {difference}"
                ));
            }
        }
        None
    }
}

const FEW: usize = 4;
