//! Asking a file system for the layout of an open file: which one it is, and what it says.

use super::pvfs::Ranges;
use super::{Description, Engine, Problem, Source, beegfs, ceph, gluster, lustre, pvfs};

/// What is known beforehand.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    /// Whose the handles of an OrangeFS file system are.
    pub pvfs: Option<Ranges>,
}

/// Which file system an open file is of, and what it says about the file.
///
/// All are asked in turn; the first that answers it is. If the type of the file system says which
/// one it is, it is that one, though this file has no layout yet.
pub fn probe(source: &dyn Source, advice: &Advice) -> (Engine, Result<Description, Problem>) {
    for engine in Engine::PROVIDERS {
        if let Some(answer) = ask(engine, source, advice) {
            return (engine, answer);
        }
    }
    (source.hint().unwrap_or(Engine::Plain), Ok(Description::plain()))
}

/// What this file system says about an open file; `None` if it says nothing.
pub fn ask(
    engine: Engine,
    source: &dyn Source,
    advice: &Advice,
) -> Option<Result<Description, Problem>> {
    match engine {
        Engine::Ceph => source.attribute(ceph::ATTRIBUTE).map(|value| ceph::parse(&value)),
        Engine::Lustre => source.attribute(lustre::ATTRIBUTE).map(|value| lustre::parse(&value)),
        Engine::Gluster => source.attribute(gluster::ATTRIBUTE).map(|value| gluster::parse(&value)),
        Engine::Pvfs => {
            let distribution = source.attribute(pvfs::DISTRIBUTION)?;
            let handles = source.attribute(pvfs::HANDLES)?;
            Some(pvfs::parse(&distribution, &handles, advice.pvfs.as_ref()))
        }
        Engine::BeeGfs => ask_beegfs(source),
        Engine::Rule | Engine::Iofwd | Engine::Plain => None,
    }
}

fn ask_beegfs(source: &dyn Source) -> Option<Result<Description, Problem>> {
    let mut answer = [0; beegfs::INFO_SIZE];
    source.control(beegfs::INFO, &mut answer)?;
    let info = match beegfs::parse_info(&answer) {
        Ok(info) => info,
        Err(problem) => return Some(Err(problem)),
    };
    let mut servers = Vec::with_capacity(info.targets.into());
    for index in 0..info.targets {
        match ask_target(source, &info, index)? {
            Ok(server) => servers.push(server),
            Err(problem) => return Some(Err(problem)),
        }
    }
    Some(Ok(beegfs::describe(&info, servers)))
}

fn ask_target(
    source: &dyn Source,
    info: &beegfs::Info,
    index: u16,
) -> Option<Result<super::Server, Problem>> {
    let mut question = beegfs::ask_target(index);
    if source.control(beegfs::TARGET, &mut question).is_some() {
        return Some(beegfs::parse_target(&question, info));
    }
    let mut question = beegfs::ask_old_target(index);
    source.control(beegfs::OLD_TARGET, &mut question)?;
    Some(beegfs::parse_old_target(&question))
}
