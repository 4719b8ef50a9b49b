//! The program under judgement, mounted: started, waited for with a bound, unmounted in order
//! (which is part of the judgement), and taken away by force if a judge gave up before.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::area::Area;
use crate::guardian;
use crate::program::{Behind, Cache, Program};
use crate::service::Service;
use crate::site::Site;

/// A mount of ours.
pub(crate) struct Mounted<'a> {
    site: &'a Site,
    program: Program,
    point: PathBuf,
    /// The process that serves it; none for the bare directory.
    server: Option<Service<'a>>,
    /// What the server needs; ended after it.
    behind: Behind<'a>,
}

impl<'a> Mounted<'a> {
    /// Mounts what is judged.
    pub(crate) fn start(site: &'a Site, area: &Area, cache: Cache) -> Result<Self, String> {
        Self::with(site, &site.program()?, area, cache)
    }

    /// Mounts another program.
    pub(crate) fn with(
        site: &'a Site,
        program: &Program,
        area: &Area,
        cache: Cache,
    ) -> Result<Self, String> {
        let program = program.clone();
        let Some(mounting) = program.mounting(site, area, cache)? else {
            let (point, behind) = (area.backing.clone(), Behind::Nothing);
            return Ok(Self { site, program, point, server: None, behind });
        };
        let (point, behind) = (area.point.clone(), mounting.behind);
        let before = device(&point)?;
        let server = Some(Service::start(site, "the server", mounting.client)?);
        let mut mounted = Self { site, program, point, server, behind };
        if let Some(server) = &mut mounted.server {
            let usable = |_: &_| device(&mounted.point).is_ok_and(|now| now != before);
            let not_mounted = |why| format!("{} is not mounted: {why}", area.point.display());
            server.wait_until(usable).map_err(not_mounted)?;
        }
        Ok(mounted)
    }

    /// Where judges look.
    pub(crate) fn path(&self) -> &Path {
        &self.point
    }

    /// The process that serves it.
    pub(crate) fn process(&self) -> Option<u32> {
        self.server.as_ref().map(Service::process)
    }

    /// Unmounts as a user would, and sees the server end well, and what is behind it.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        if self.server.is_none() {
            return Ok(());
        }
        self.program.unmount(&self.point).run(self.site)?;
        let ended = self.server.take().map_or(Ok(()), Service::ended);
        let ended = ended.map_err(|why| format!("unmounted, but {why}"));
        std::mem::replace(&mut self.behind, Behind::Nothing).finish(ended)
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            // The server first: unmounting could wait for one that does not answer.
            server.kill();
            guardian::detach(&self.point);
        }
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
    modes: &[Cache],
    area: impl Fn(Cache) -> Result<Area, String>,
    judge: impl Fn(&Mounted<'_>, &Area) -> Result<(), String>,
) -> Result<(), String> {
    let mut failures = Vec::new();
    for &cache in modes {
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
