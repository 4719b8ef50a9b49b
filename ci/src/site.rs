//! Where a run takes place: the workspace, the room for its temporary files, the program that is
//! judged, and the guardian who clears up.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::arguments::{Arguments, Choice};
use crate::guardian::Guardian;
use crate::program::{Program, Through};
use crate::step::Step;

/// What every stage is given.
pub(crate) struct Site {
    pub(crate) workspace: PathBuf,
    pub(crate) target: PathBuf,
    /// The directory that everything temporary of this run lies in, on a disk.
    pub(crate) room: PathBuf,
    pub(crate) guardian: Guardian,
    pub(crate) rounds: usize,
    pub(crate) minutes: Option<u64>,
    pub(crate) memory_mib: u64,
    choice: Choice,
    program: OnceLock<Result<Program, String>>,
    through: Mutex<Option<Through>>,
    memory: OnceLock<Result<PathBuf, String>>,
    stage: Mutex<&'static str>,
    logs: AtomicUsize,
}

impl Site {
    pub(crate) fn prepare(arguments: &Arguments) -> Result<Self, String> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let workspace = workspace.canonicalize().map_err(|e| format!("the workspace: {e}"))?;
        let own = std::env::current_exe().map_err(|e| format!("own path: {e}"))?;
        let target = own.ancestors().nth(2).expect("cargo runs us from target/PROFILE").to_owned();
        let room = Path::new(ROOMS).join(format!("iofwd-ci-{}", std::process::id()));
        fs::create_dir(&room).map_err(|e| format!("{}: {e}", room.display()))?;
        let logs = target.join(LOGS);
        // The logs of the last run would be taken for this one's.
        let _ = fs::remove_dir_all(&logs);
        fs::create_dir_all(&logs).map_err(|e| format!("{}: {e}", logs.display()))?;
        Ok(Self {
            workspace,
            target,
            guardian: Guardian::start(&room)?,
            room,
            rounds: arguments.rounds,
            minutes: arguments.minutes,
            memory_mib: arguments.memory_mib,
            choice: arguments.program.clone(),
            program: OnceLock::new(),
            through: Mutex::new(arguments.through),
            memory: OnceLock::new(),
            stage: Mutex::new(""),
            logs: AtomicUsize::new(0),
        })
    }

    /// Ends the run, after which nothing of it is left.
    pub(crate) fn leave(self) {
        self.guardian.dismiss();
    }

    /// Logs are named after the stage that wrote them.
    pub(crate) fn enter(&self, stage: &'static str) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    pub(crate) fn new_log(&self) -> PathBuf {
        let number = self.logs.fetch_add(1, Ordering::Relaxed);
        let stage = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        self.target.join(LOGS).join(format!("{number:03}-{stage}.log"))
    }

    /// Why nothing can be mounted here, if so.
    pub(crate) fn cannot_mount(&self) -> Option<&'static str> {
        let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        if !is_root {
            Some("only root can judge a mount as all users")
        } else if !Path::new("/dev/fuse").exists() {
            Some("there is no /dev/fuse here")
        } else {
            None
        }
    }

    /// What is judged; built when first asked for, so that it is never an old one.
    pub(crate) fn program(&self) -> Result<Program, String> {
        let through = *self.through.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.chosen()?.clone(), through) {
            (Program::Iofwd(path), Some(Through::Device)) => Ok(Program::Device(path)),
            (Program::Iofwd(path), Some(Through::Agent(transport))) => {
                Ok(Program::Remote { path, transport })
            }
            (program, _) => Ok(program),
        }
    }

    /// Judges with requests that reach the agent otherwise.
    pub(crate) fn through<T>(&self, way: impl Into<Through>, judge: impl FnOnce() -> T) -> T {
        let set = |to| {
            let mut now = self.through.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *now, to)
        };
        let before = set(Some(way.into()));
        let judged = judge();
        set(before);
        judged
    }

    fn chosen(&self) -> Result<&Program, String> {
        let program = self.program.get_or_init(|| match &self.choice {
            Choice::Built => Ok(Program::Iofwd(self.release("iofwd")?)),
            Choice::Other(path) => Ok(Program::Iofwd(path.clone())),
            Choice::Yardstick => {
                Ok(Program::Yardstick { path: self.release("yardstick")?, ttl: 0 })
            }
            Choice::Bare => Ok(Program::Bare),
        });
        program.as_ref().map_err(Clone::clone)
    }

    /// The release build of a package of this workspace.
    pub(crate) fn release(&self, package: &str) -> Result<PathBuf, String> {
        let build = ["build", "--quiet", "--release", "--package", package];
        Step::new("cargo").args(build).dir(&self.workspace).limit(900).run(self)?;
        Ok(self.target.join("release").join(package))
    }

    /// A tool that `packages` installed.
    pub(crate) fn tool(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.tools().join("bin").join(name);
        let missing = || format!("{} is missing; `cargo ci packages` makes it", path.display());
        if path.exists() { Ok(path) } else { Err(missing()) }
    }

    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("ci-tools")
    }

    /// A file system in memory, for what a disk would only make slower.
    pub(crate) fn memory(&self) -> Result<&Path, String> {
        let memory = self.memory.get_or_init(|| {
            let path = self.room.join("memory");
            fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let mount = ["-t", "tmpfs", "-o", "size=4g,mode=755", "iofwd-ci"];
            Step::new("mount").args(mount).arg(&path).run(self)?;
            Ok(path)
        });
        memory.as_deref().map_err(Clone::clone)
    }
}

/// A place for large temporary files, on a disk on most systems, that every user may enter.
const ROOMS: &str = "/var/tmp";
const LOGS: &str = "ci-logs";
