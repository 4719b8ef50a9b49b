//! The processes of the jobs: what each one waits for, and what became of the jobs.

use super::random::Random;
use super::report::JobReport;
use super::scenario::Scenario;
use super::workload::Job;
use crate::request::{Extent, FileId, JobId};
use crate::time::{Span, Time};

/// One process in its closed loop: ask, wait, compute, ask again.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) job: u32,
    /// Its number within the job.
    rank: u32,
    /// The compute node it runs on, counted over all jobs.
    pub(super) node: u32,
    /// The agent that node talks to, if there are any.
    pub(super) agent: u32,
    round: u64,
    random: Random,
    /// What it asked for last, and when.
    pub(super) file: FileId,
    pub(super) extent: Extent,
    pub(super) asked: Time,
    /// Parts of that which have not come back yet.
    pub(super) pending: u32,
}

/// A job, and where its files lie.
#[derive(Clone, Debug)]
pub(super) struct Application {
    pub(super) job: Job,
    pub(super) report: JobReport,
    /// Number of its first file; files are numbered over all jobs.
    first_file: u64,
    /// Where its first file begins on every server's device.
    base: u64,
    /// What each of its files takes on every server.
    share: u64,
}

impl Process {
    /// The next request of the process; `None` if it has made all of them.
    pub(super) fn next(&mut self, application: &Application) -> Option<(FileId, Extent)> {
        let job = &application.job;
        if self.is_done(application) {
            return None;
        }
        let (file, extent) = job.access(self.rank, self.round, &mut self.random);
        self.round += 1;
        self.file = FileId(application.first_file + file);
        self.extent = extent;
        Some((self.file, extent))
    }

    /// Whether it has made all its requests.
    pub(super) const fn is_done(&self, application: &Application) -> bool {
        self.round == application.job.rounds()
    }

    /// How long it computes before its next request.
    pub(super) fn think(&mut self, job: &Job) -> Span {
        match job.jitter {
            Span::ZERO => job.think,
            jitter => job.think + Span::from_nanos(self.random.below(jitter.as_nanos())),
        }
    }

    /// When the process starts: a random moment of the stagger, the same for all of a node.
    pub(super) fn start(&self, job: &Job, seed: u64) -> Time {
        // Streams of nodes lie in the middle, between those of processes and those of servers.
        let mut random = Random::new(seed, 1 << 63 | u64::from(self.node));
        job.start + Span::from_nanos(random.below(job.stagger.as_nanos()))
    }
}

impl Application {
    /// Where on a server's device the file's part of that server begins.
    pub(super) const fn place_of(&self, file: FileId) -> u64 {
        self.base + (file.0 - self.first_file) * self.share
    }

    /// Notes an answer.
    pub(super) const fn answered(&mut self, bytes: u64) {
        self.report.requests += 1;
        self.report.bytes += bytes;
    }

    /// Notes that one of its processes is done.
    pub(super) fn finished(&mut self, now: Time) {
        self.report.end = self.report.end.max(now);
        self.report.first_end = self.report.first_end.min(now);
    }
}

/// The jobs of a scenario, their files laid out one behind the other on the devices.
pub(super) fn applications(scenario: &Scenario) -> Vec<Application> {
    let (mut first_file, mut base) = (0, 0);
    let stripe_row = scenario.platform.unit.saturating_mul(u64::from(scenario.platform.servers));
    let mut all = Vec::new();
    for (index, &job) in scenario.jobs.iter().enumerate() {
        let share = job.file_size().div_ceil(stripe_row) * scenario.platform.unit;
        let report = JobReport {
            job: JobId(index as u64),
            start: job.start,
            end: job.start,
            first_end: Time::NEVER,
            requests: 0,
            bytes: 0,
            processes: job.processes,
        };
        all.push(Application { job, report, first_file, base, share });
        first_file += job.files();
        base += share * job.files();
    }
    all
}

/// The processes of a scenario, job by job.
pub(super) fn processes(scenario: &Scenario) -> Vec<Process> {
    let mut node_base = 0;
    let mut all = Vec::new();
    for (index, job) in scenario.jobs.iter().enumerate() {
        for rank in 0..job.processes {
            let node = rank / job.per_node;
            all.push(Process {
                job: index as u32,
                rank,
                node: node_base + node,
                agent: agent_of(scenario, index, node),
                round: 0,
                random: Random::new(scenario.seed, all.len() as u64),
                file: FileId(0),
                extent: Extent::new(0, 0),
                asked: job.start,
                pending: 0,
            });
        }
        node_base += job.nodes();
    }
    all
}

/// The agent of a job's node: the nodes of each job are divided among all agents, neighbours to the same
/// one; the next job begins with the next agent, so that small jobs do not all share the first.
fn agent_of(scenario: &Scenario, job: usize, node: u32) -> u32 {
    let agents = scenario.forwarding.as_ref().map_or(1, |forwarding| u64::from(forwarding.agents));
    let share = u64::from(node) * agents / u64::from(scenario.jobs[job].nodes());
    ((job as u64 + share) % agents) as u32
}
