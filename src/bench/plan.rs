//! What is meant: one checked value. After this no text is parsed and no default invented.

use std::path::PathBuf;
use std::time::Duration;

use super::content;
use super::pattern::Shape;

/// Everything that a call of the benchmark is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The directory that gets the load.
    pub path: PathBuf,
    /// Other mounts of the same directory; processes are dealt over all of them, in blocks.
    pub also: Vec<PathBuf>,
    /// The directory has files that an earlier call left: read those, and leave them.
    pub reuse: bool,
    /// Who does it, all at once.
    pub applications: Vec<Application>,
    /// Let each of several applications run by itself too, to know how they disturb each other.
    pub alone: bool,
    /// How often everything is done.
    pub repeat: u32,
    /// Decides offsets, contents and the order of runs.
    pub seed: u64,
    /// Check every byte.
    pub verify: bool,
    /// Go around the page cache.
    pub direct: bool,
    /// Make what was written durable, within the measured time.
    pub fsync: bool,
    /// What to forget before something is read.
    pub caches: Caches,
    /// Leave the files behind.
    pub keep: bool,
    /// Mounts to compare, if any.
    pub comparison: Option<Comparison>,
}

/// One parallel application.
#[derive(Clone, Debug)]
pub struct Application {
    /// What it is called; names its files too.
    pub name: String,
    /// Its processes and their requests.
    pub shape: Shape,
    /// What it does.
    pub work: Work,
    /// How long after the others were ready to start it starts.
    pub start: Duration,
    /// How long a process thinks between an answer and its next request.
    pub think: Duration,
    /// How often it goes through its files.
    pub periods: u32,
    /// How long all of its processes compute before each of these times.
    pub compute: Duration,
}

/// What an application does with its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads files that were written before, without being measured.
    Read,
    /// Writes new files.
    Write,
    /// Writes new files, and when all of its processes have, reads them.
    Both,
}

/// What is forgotten before something is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caches {
    /// Nothing.
    Keep,
    /// The pages of the files that were used.
    Files,
    /// Everything that the kernel has cached; only root can.
    All,
}

/// Mounts of the same directory that differ in one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The option of `iofwd mount -o`.
    pub key: String,
    /// Its values.
    pub values: Vec<String>,
    /// Other options, the same for all.
    pub options: Vec<String>,
}

/// The value that stands for no mount at all.
pub const UNFORWARDED: &str = "unforwarded";

impl Plan {
    /// Refuse what cannot work, and say why.
    pub fn check(&self) -> Result<(), String> {
        self.applications.iter().try_for_each(|one| self.check_application(one))?;
        let mut names: Vec<&str> = self.applications.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two applications are called {}: name them apart", twice[0]));
        }
        if self.reuse && self.applications.iter().any(|one| one.work != Work::Read) {
            return Err(
                "--reuse: files that are there can only be read: use --operation read".into()
            );
        }
        let processes: u64 = self.applications.iter().map(|one| one.shape.processes()).sum();
        if processes > PROCESSES {
            return Err(format!("{processes} processes are too many: at most {PROCESSES} in all"));
        }
        if self.caches == Caches::All && !nix::unistd::geteuid().is_root() {
            return Err("only root can drop all caches: run as root, or use --caches=files".into());
        }
        Ok(())
    }

    fn check_application(&self, one: &Application) -> Result<(), String> {
        let (request, name) = (one.shape.request(), &one.name);
        if self.direct && !request.is_multiple_of(SECTOR) {
            return Err(format!(
                "--direct needs requests of whole sectors: {request} (application {name}) is no \
                 multiple of {SECTOR}"
            ));
        }
        if !self.verify {
            return Ok(());
        }
        if !request.is_multiple_of(content::GRAIN) {
            return Err(format!(
                "--verify needs requests of whole words: {request} (application {name}) is no \
                 multiple of {}",
                content::GRAIN
            ));
        }
        if one.passes() > content::PASSES {
            return Err(format!(
                "--verify can tell {} periods of writing apart, no more",
                content::PASSES
            ));
        }
        if one.shape.bytes() / one.shape.files() > content::FILE_BYTES {
            return Err(format!("--verify works up to {} bytes a file", content::FILE_BYTES));
        }
        Ok(())
    }

    /// The number of an application's first file, counted over all.
    pub fn first_file(&self, application: usize) -> u64 {
        self.applications[..application].iter().map(|one| one.shape.files()).sum()
    }

    /// The name of a file, counted over all applications; nothing if there is none.
    pub fn file_name(&self, mut file: u64) -> Option<String> {
        for one in &self.applications {
            if file < one.shape.files() {
                return Some(one.file_name(file));
            }
            file -= one.shape.files();
        }
        None
    }
}

impl Application {
    /// The name of one of its files.
    pub fn file_name(&self, file: u64) -> String {
        if self.shape.files() == 1 {
            format!("{}.shared", self.name)
        } else {
            format!("{}.{file:05}", self.name)
        }
    }

    /// How often its files are written.
    pub fn passes(&self) -> u64 {
        if self.work == Work::Read { 1 } else { self.periods.into() }
    }
}

const SECTOR: u64 = 512;
/// What one node can be asked to start; each file of theirs can be told from the others.
const PROCESSES: u64 = 4096;
const _: () = assert!(PROCESSES <= content::FILES);

#[cfg(test)]
pub(super) mod tests {
    use super::super::pattern::Pattern;
    use super::*;

    pub(in crate::bench) fn application(name: &str, work: Work) -> Application {
        Application {
            name: name.into(),
            shape: Shape::new(Pattern::Strided, 2, 4, 4096, 1),
            work,
            start: Duration::ZERO,
            think: Duration::ZERO,
            periods: 1,
            compute: Duration::ZERO,
        }
    }

    pub(in crate::bench) fn plan(applications: Vec<Application>) -> Plan {
        Plan {
            path: "/nowhere".into(),
            also: Vec::new(),
            reuse: false,
            applications,
            alone: true,
            repeat: 1,
            seed: 1,
            verify: false,
            direct: false,
            fsync: false,
            caches: Caches::Files,
            keep: false,
            comparison: None,
        }
    }

    #[test]
    fn what_cannot_work_is_refused_with_the_reason() {
        let refuse = |change: &dyn Fn(&mut Plan), why: &str| {
            let mut plan = plan(vec![application("A", Work::Both)]);
            assert_eq!(plan.check(), Ok(()));
            change(&mut plan);
            let failure = plan.check().unwrap_err();
            assert!(failure.contains(why), "{failure}");
        };
        let shape = |request| Shape::new(Pattern::Strided, 2, 4, request, 1);
        refuse(&|plan| plan.applications.push(application("A", Work::Read)), "called A");
        refuse(&|plan| plan.reuse = true, "--operation read");
        refuse(
            &|plan| {
                plan.direct = true;
                plan.applications[0].shape = shape(1000);
            },
            "1000",
        );
        refuse(
            &|plan| {
                plan.verify = true;
                plan.applications[0].shape = shape(1001);
            },
            "1001",
        );
        refuse(
            &|plan| {
                plan.verify = true;
                plan.applications[0].periods = 256;
            },
            "255",
        );
        let many = Shape::new(Pattern::Strided, 4097, 4, 512, 1);
        refuse(&|plan| plan.applications[0].shape = many, "4096");
    }

    #[test]
    fn files_are_counted_over_all_applications() {
        let mut plan = plan(vec![application("A", Work::Both), application("B", Work::Both)]);
        plan.applications[0].shape = Shape::new(Pattern::FilePerProcess, 2, 4, 512, 1);
        assert_eq!(plan.first_file(1), 2);
        assert_eq!(plan.file_name(1).as_deref(), Some("A.00001"));
        assert_eq!(plan.file_name(2).as_deref(), Some("B.shared"));
        assert_eq!(plan.file_name(3), None);
    }
}
