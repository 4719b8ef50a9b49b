//! The program under judgement, mounted: started, waited for with a bound, unmounted in order
//! (which is part of the judgement), and taken away by force if a judge gave up before.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::area::Area;
use crate::guardian;
use crate::site::Site;
use crate::step::{self, Step};

/// What can be mounted.
#[derive(Clone)]
pub(crate) enum Program {
    Iofwd(PathBuf),
    Yardstick {
        path: PathBuf,
        ttl: u32,
    },
    /// As it comes: one thread, and a second of caching by the kernel; or with several threads and
    /// nothing cached, which is what a coherent mount promises.
    Bindfs {
        as_it_comes: bool,
    },
    /// No mount at all: the directory itself.
    Bare,
}

/// The cache modes of the program.
#[derive(Clone, Copy)]
pub(crate) enum Cache {
    Coherent,
    CloseToOpen,
    Exclusive,
}

impl Cache {
    pub(crate) const ALL: [Self; 3] = [Self::Coherent, Self::CloseToOpen, Self::Exclusive];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Coherent => "coherent",
            Self::CloseToOpen => "close-to-open",
            Self::Exclusive => "exclusive",
        }
    }
}

/// A mount of ours.
pub(crate) struct Mounted<'a> {
    site: &'a Site,
    program: Program,
    point: PathBuf,
    /// The process that serves it, and its log; none for the bare directory.
    server: Option<(Child, PathBuf)>,
}

impl<'a> Mounted<'a> {
    /// Mounts what is judged.
    pub(crate) fn start(site: &'a Site, area: &Area, cache: Cache) -> Result<Self, String> {
        Self::with(site, site.program()?, area, cache)
    }

    /// Mounts another program.
    pub(crate) fn with(
        site: &'a Site,
        program: &Program,
        area: &Area,
        cache: Cache,
    ) -> Result<Self, String> {
        let Some(step) = program.mount(area, cache) else {
            let (program, point) = (Program::Bare, area.backing.clone());
            return Ok(Self { site, program, point, server: None });
        };
        let device = device(&area.point)?;
        let server = Some(step.spawn(site)?);
        let mut mounted =
            Self { site, program: program.clone(), point: area.point.clone(), server };
        mounted.wait_until_usable(device)?;
        Ok(mounted)
    }

    /// Where judges look.
    pub(crate) fn path(&self) -> &Path {
        &self.point
    }

    /// The process that serves it.
    pub(crate) fn process(&self) -> Option<u32> {
        self.server.as_ref().map(|(child, _)| child.id())
    }

    /// Unmounts as a user would, and sees the server end well.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        if self.server.is_none() {
            return Ok(());
        }
        self.program.unmount(&self.point).run(self.site)?;
        let Some((mut server, log)) = self.server.take() else { return Ok(()) };
        let group = server.id();
        let status = step::wait(&mut server, END);
        if status.is_none() {
            guardian::kill(group);
            let _ = server.wait();
        }
        self.site.guardian.release(group);
        let tail = || step::last_lines(&step::read_lossily(&log));
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                Err(format!("unmounted, but the server ended with {status}\n{}", tail()))
            }
            None => Err(format!("unmounted, but the server ran on for {END:?}\n{}", tail())),
        }
    }

    fn wait_until_usable(&mut self, before: u64) -> Result<(), String> {
        let Some((server, log)) = &mut self.server else { return Ok(()) };
        let end = Instant::now() + START;
        loop {
            if device(&self.point).is_ok_and(|now| now != before) {
                return Ok(());
            }
            let ended = server.try_wait().ok().flatten();
            if ended.is_some() || Instant::now() > end {
                let tail = step::last_lines(&step::read_lossily(log));
                return Err(format!("{} is not mounted\n{tail}", self.point.display()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if let Some((server, _)) = &mut self.server {
            // The server first: unmounting could wait for one that does not answer.
            guardian::kill(server.id());
            let _ = server.wait();
            guardian::detach(&self.point);
            self.site.guardian.release(server.id());
        }
    }
}

impl Program {
    /// How it is mounted, and stays in the foreground.
    fn mount(&self, area: &Area, cache: Cache) -> Option<Step> {
        let step = match self {
            Self::Iofwd(path) => Step::new(path)
                .args(["mount", "--foreground", "--allow-other"])
                .arg(format!("--cache={}", cache.name())),
            Self::Yardstick { path, ttl } => Step::new(path).arg("--ttl").arg(ttl.to_string()),
            Self::Bindfs { as_it_comes: true } => Step::new("bindfs").arg("-f"),
            Self::Bindfs { as_it_comes: false } => {
                let options = "attr_timeout=0,entry_timeout=0,negative_timeout=0";
                Step::new("bindfs").args(["-f", "--multithreaded", "-o", options])
            }
            Self::Bare => return None,
        };
        Some(step.arg(&area.backing).arg(&area.point))
    }

    fn unmount(&self, point: &Path) -> Step {
        let step = match self {
            Self::Iofwd(path) => Step::new(path).arg("unmount"),
            Self::Yardstick { .. } | Self::Bindfs { .. } | Self::Bare => Step::new("umount"),
        };
        step.arg(point).limit(60).quiet()
    }
}

/// Mounts, judges, unmounts; the first of them to fail is what is told.
pub(crate) fn on_mount<T>(
    site: &Site,
    area: &Area,
    cache: Cache,
    judge: impl FnOnce(&Mounted<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let mounted = Mounted::start(site, area, cache)?;
    let result = judge(&mounted)?;
    mounted.finish()?;
    Ok(result)
}

/// Judges a fresh mount in each cache mode; the failures of all are told together.
pub(crate) fn in_each_mode(
    site: &Site,
    area: impl Fn(Cache) -> Result<Area, String>,
    judge: impl Fn(&Mounted<'_>, &Area) -> Result<(), String>,
) -> Result<(), String> {
    let mut failures = Vec::new();
    for cache in Cache::ALL {
        let area = area(cache)?;
        let judged = on_mount(site, &area, cache, |mounted| judge(mounted, &area));
        failures.extend(judged.err().map(|why| format!("{}: {why}", cache.name())));
        area.clear();
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn device(path: &Path) -> Result<u64, String> {
    fs::metadata(path).map(|m| m.dev()).map_err(|e| format!("{}: {e}", path.display()))
}

/// How long a mount may take to become usable, and its server to end after unmounting.
const START: Duration = Duration::from_secs(20);
const END: Duration = Duration::from_secs(20);
