//! What an application does one after another; all of its processes wait for each other between.

use super::plan::{Application, Caches, Plan, Work};

/// What to do in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Lay files out that will be read, in large requests; not measured.
    Prepare,
    /// Write, measured.
    Write,
    /// Make everything durable and forget what is cached.
    Settle,
    /// Read, measured; checked on the way if that is wanted.
    Read,
    /// Read and check what was written; not measured.
    Check,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) task: Task,
    /// Which time the files are written, or which time they were written last.
    pub(super) pass: u64,
}

impl Task {
    /// Whether bytes move, so that it counts in a progress bar.
    pub(super) fn moves(self) -> bool {
        self != Task::Settle
    }

    /// Whether it is a result.
    pub(super) fn is_measured(self) -> bool {
        matches!(self, Task::Write | Task::Read)
    }

    /// Whether files are written.
    pub(super) fn writes(self) -> bool {
        matches!(self, Task::Write | Task::Prepare)
    }

    /// As the user reads it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Task::Prepare => "prepare",
            Task::Write => "write",
            Task::Settle => "settle",
            Task::Read => "read",
            Task::Check => "check",
        }
    }
}

/// What comes before all runs: files for those who only read.
pub(super) fn preparation(application: &Application) -> Vec<Step> {
    match application.work {
        Work::Read => vec![Step { task: Task::Prepare, pass: 1 }],
        Work::Write | Work::Both => Vec::new(),
    }
}

/// The steps of one run.
pub(super) fn steps(plan: &Plan, application: &Application) -> Vec<Step> {
    let last = application.passes();
    let settle = (plan.caches != Caches::Keep).then_some(Step { task: Task::Settle, pass: last });
    let mut steps = Vec::new();
    if application.work != Work::Read {
        steps.extend((1..=last).map(|pass| Step { task: Task::Write, pass }));
    }
    if application.work != Work::Write {
        for _ in 0..application.periods {
            steps.extend(settle);
            steps.push(Step { task: Task::Read, pass: last });
        }
    } else if plan.verify {
        steps.extend(settle);
        steps.push(Step { task: Task::Check, pass: last });
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::{application, plan};
    use super::*;

    fn tasks(work: Work, periods: u32, change: impl Fn(&mut Plan)) -> Vec<(Task, u64)> {
        let mut one = application("A", work);
        one.periods = periods;
        let mut plan = plan(vec![one.clone()]);
        change(&mut plan);
        steps(&plan, &one).into_iter().map(|step| (step.task, step.pass)).collect()
    }

    #[test]
    fn caches_are_dropped_before_every_read() {
        use Task::{Read, Settle, Write};
        assert_eq!(tasks(Work::Both, 1, |_| ()), [(Write, 1), (Settle, 1), (Read, 1)]);
        let twice = [(Settle, 1), (Read, 1), (Settle, 1), (Read, 1)];
        assert_eq!(tasks(Work::Read, 2, |_| ()), twice);
        assert_eq!(tasks(Work::Read, 1, |plan| plan.caches = Caches::Keep), [(Read, 1)]);
    }

    #[test]
    fn each_period_writes_another_pass_and_the_last_is_checked() {
        let seen = tasks(Work::Write, 3, |plan| plan.verify = true);
        let writes = [(Task::Write, 1), (Task::Write, 2), (Task::Write, 3)];
        assert_eq!(seen[..3], writes);
        assert_eq!(seen[3..], [(Task::Settle, 3), (Task::Check, 3)]);
        assert_eq!(tasks(Work::Write, 3, |_| ()), writes);
    }

    #[test]
    fn only_readers_need_files_beforehand() {
        let needs = |work| !preparation(&application("A", work)).is_empty();
        assert_eq!([Work::Read, Work::Write, Work::Both].map(needs), [true, false, false]);
    }
}
