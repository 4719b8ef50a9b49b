//! What the data server that has the names keeps of striped files.
//!
//! A striped file is a sparse file among the names: its size is the size, and an extended attribute
//! says which objects have its bytes. Agents write to the objects first and then tell how far they got;
//! what was cut off a file meanwhile is known by its epoch, which goes up with every cut.
//!
//! A cut has two steps. First the size is set and the cut is written down, with an epoch of its own:
//! from then on nobody's data are accepted. Then any agent, whichever comes first, has the objects
//! trimmed under that epoch and says so, and the epoch goes up once more. Whoever wrote under an older
//! one writes again. Nobody waits for anybody, and nothing is lost if the agent that began dies.

mod desk;
mod objects;
mod orphans;
mod parting;
mod record;
mod roster;
mod serve;
mod turns;
mod visitors;
mod walk;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dashmap::DashMap;

use iofwd_mount::store::Changes;
use iofwd_mount::{Caller, Errno};

use crate::backend::objects::Objects;
use crate::backend::posix::{Birth, Identity, Inode, Key, Tree};
use crate::report::Report;
use crate::wire::stripe::{Epoch, Standing, Stripes, Wish};

use super::Agent;
use super::engine::EngineSettings;
use super::files::OpenFile;
use super::nodes::Node;
use super::once;
use super::state::{Spot, State};
use super::survival::Survival;

use orphans::Orphans;
use parting::Partings;
use roster::Roster;
use turns::Turns;
use visitors::Visitors;

pub use desk::Desk;
pub(super) use parting::Claim;
pub(super) use serve::Visitor;
pub(crate) use visitors::agent_name;

/// What a data server keeps beside the names: its objects, and how striped files stand.
#[derive(Debug)]
pub(super) struct Keeper {
    objects: Objects,
    desk: Desk,
    roster: Roster,
    orphans: Orphans,
    partings: Partings,
    visitors: Visitors,
    files: DashMap<Key, Arc<Mutex<File>>>,
}

/// A file among the names.
#[derive(Debug)]
struct File {
    birth: Birth,
    /// Its stripes, if it has any yet.
    stripes: Option<Stripes>,
    turns: Turns,
}

impl Agent {
    /// The agent of a data server: names and objects in one directory.
    pub fn data_server(
        directory: &Path,
        settings: &EngineSettings,
        survival: Option<Survival>,
        desk: Desk,
    ) -> Result<Agent, Errno> {
        let names = directory.join("names");
        std::fs::create_dir_all(&names)?;
        let mut agent = Agent::surviving(&names, settings, survival)?;
        let kept =
            agent.survival.as_ref().map(|survival| survival.state.hidden.directory().to_owned());
        let nameless =
            kept.filter(|kept| kept.is_dir()).map(|kept| Tree::open(&kept)).transpose()?;
        let nameless = nameless.as_ref().map(Tree::root);
        let orphans = Orphans::open(&directory.join("orphans"), agent.tree.root(), nameless)?;
        agent.keeper = Some(Arc::new(Keeper {
            objects: Objects::open(&directory.join("objects"))?,
            desk,
            roster: Roster::open(directory)?,
            orphans,
            partings: Partings::default(),
            visitors: Visitors::default(),
            files: DashMap::new(),
        }));
        Ok(agent)
    }
}

impl Keeper {
    /// What was done with the objects.
    pub(super) fn report(&self, report: &mut Report) {
        self.desk.report(report);
    }

    /// The stripes of a file; made as wished if it has none.
    fn stripes(&self, agent: &Agent, node: &Node, wish: Option<Wish>) -> Result<Stripes, Errno> {
        if !node.inode.is_file() {
            return Err(Errno::EINVAL);
        }
        let file = self.file(agent, &node.inode)?;
        let mut file = lock(&file);
        if let Some(stripes) = &file.stripes {
            return Ok(stripes.clone());
        }
        let stripes = record::make(wish.ok_or(Errno::from_raw(libc::ENODATA))?)?;
        if node.inode.attr()?.links == 0 {
            // Without a name from the beginning: its objects go when it is closed.
            self.doom_nameless(&node.inode, &stripes);
        }
        record::save(&node.inode, &stripes)?;
        file.stripes = Some(stripes.clone());
        file.turns = Turns::of_new_file();
        Ok(stripes)
    }

    /// Data up to there are at their servers.
    fn wrote(
        &self,
        agent: &Agent,
        visitor: &Visitor<'_>,
        open: &OpenFile,
        (to, epoch): (u64, Epoch),
        append: bool,
    ) -> Result<Standing, Errno> {
        let file = self.file(agent, &open.node.inode)?;
        // Before the file: others hold names, and then look for files.
        let once = visitor.once.filter(|_| append);
        let end = once.map(|once| once.hold_end(open.node.inode.key())).transpose()?;
        let file = lock(&file);
        let stripes = file.stripes.as_ref().ok_or(Errno::EINVAL)?;
        let size = open.file.attr(&open.node.inode)?.size;
        // One who lost its turn, because this server was started again, may not say that it wrote.
        let begun = file.turns.begun_at(visitor.client);
        let is_turn = !append || begun.is_some();
        if stripes.cut.is_some() || stripes.epoch != epoch || !is_turn {
            return Ok(standing(false, size, stripes));
        }
        let extend = || {
            agent.act_as(visitor.caller);
            extend(open, size, to)
        };
        match (end, begun) {
            (Some(end), Some(begun)) => {
                let length = u32::try_from(to.saturating_sub(begun)).unwrap_or(u32::MAX);
                end.extend(begun, length, extend)?;
            }
            _ => extend()?,
        }
        Ok(standing(true, size.max(to), stripes))
    }

    /// Set the size of a file.
    fn truncate(
        &self,
        agent: &Agent,
        caller: &Caller,
        node: &Node,
        open: Option<&OpenFile>,
        size: u64,
    ) -> Result<Standing, Errno> {
        let known = self.file(agent, &node.inode)?;
        // Before the file: others hold names, and then look for files.
        let spot = Spot::end(node.inode.key());
        let names = agent.survival.as_ref().map(|survival| survival.state.names.hold(&[spot]));
        let mut end = names.transpose()?;
        let mut file = lock(&known);
        let before = node.inode.attr()?.size;
        let cuts = file.stripes.as_ref().filter(|_| size < before).map(|stripes| stripes.epoch);
        if let (Some(end), Some(epoch)) = (&mut end, cuts) {
            end.intend(&once::shrinking(node.inode.key(), size, epoch))?;
        }
        agent.act_as(caller);
        let changes = Changes { size: Some(size), ..Changes::default() };
        let changed = node.inode.change(&changes, open.map(|open| &open.file));
        let stands = changed.and_then(|_| file.resized(&node.inode, size, cuts.is_some()));
        if let (Some(end), Some(_)) = (&end, cuts) {
            end.forget()?;
        }
        stands
    }

    /// How a file stands.
    fn standing(&self, agent: &Agent, node: &Node) -> Result<Standing, Errno> {
        let file = self.file(agent, &node.inode)?;
        let file = lock(&file);
        let size = node.inode.attr()?.size;
        Ok(match &file.stripes {
            Some(stripes) => standing(stripes.cut.is_none(), size, stripes),
            None => Standing { accepted: true, size, epoch: 0, cut: None },
        })
    }

    /// The objects of a file were trimmed under that epoch.
    fn trimmed(&self, agent: &Agent, node: &Node, epoch: Epoch) -> Result<Standing, Errno> {
        let file = self.file(agent, &node.inode)?;
        let mut file = lock(&file);
        let stripes = file.stripes.as_mut().ok_or(Errno::EINVAL)?;
        if stripes.cut.is_some() && stripes.epoch == epoch {
            stripes.cut = None;
            stripes.epoch += 1;
            record::save(&node.inode, stripes)?;
        }
        Ok(standing(stripes.cut.is_none(), node.inode.attr()?.size, stripes))
    }

    /// What is known of a file, with this thread acting as the agent.
    fn file(&self, agent: &Agent, inode: &Inode) -> Result<Arc<Mutex<File>>, Errno> {
        Identity::assume_agent();
        let key = inode.key();
        if let Some(file) = self.files.get(&key)
            && lock(&file).birth == inode.birth()
        {
            return Ok(Arc::clone(&file));
        }
        let mut stripes = record::load(inode)?;
        if let (Some(survival), Some(stripes)) = (&agent.survival, &mut stripes) {
            settle(&survival.state, inode, stripes)?;
        }
        let fresh = File { birth: inode.birth(), stripes, turns: Turns::default() };
        if self.files.len() >= FILES_MOST {
            self.files.retain(|_, file| Arc::strong_count(file) > 1 || lock(file).turns.is_taken());
        }
        let mut slot = self.files.entry(key).or_insert_with(|| {
            Arc::new(Mutex::new(File {
                birth: fresh.birth,
                stripes: fresh.stripes.clone(),
                turns: Turns::default(),
            }))
        });
        // The number of a file that is gone is in use again.
        if lock(&slot).birth != fresh.birth {
            *slot = Arc::new(Mutex::new(fresh));
        }
        Ok(Arc::clone(&slot))
    }

    /// A file is gone, and its number may be used again.
    fn forget(&self, key: Key) {
        self.files.remove(&key);
    }
}

impl File {
    /// It has another size. What is cut off is written down.
    fn resized(&mut self, inode: &Inode, size: u64, cuts: bool) -> Result<Standing, Errno> {
        let Some(stripes) = &mut self.stripes else {
            return Ok(Standing { accepted: true, size, epoch: 0, cut: None });
        };
        if cuts {
            cut_off(inode, stripes, size)?;
        }
        Ok(standing(stripes.cut.is_none(), size, stripes))
    }
}

fn cut_off(inode: &Inode, stripes: &mut Stripes, size: u64) -> Result<(), Errno> {
    stripes.cut = Some(stripes.cut.map_or(size, |cut| cut.min(size)));
    stripes.epoch += 1;
    record::save(inode, stripes)
}

/// Finish what this server began with the end of a file before it died.
fn settle(state: &State, inode: &Inode, stripes: &mut Stripes) -> Result<(), Errno> {
    if let Some((size, epoch)) = once::settle_end(state, inode)? {
        if stripes.epoch == epoch {
            cut_off(inode, stripes, size)?;
        }
        once::settled(state, inode)?;
    }
    Ok(())
}

/// A file has bytes up to `end`; or what was written lies before its end.
fn extend(open: &OpenFile, size: u64, end: u64) -> Result<(), Errno> {
    if end > size {
        let changes = Changes { size: Some(end), ..Changes::default() };
        open.node.inode.change(&changes, Some(&open.file)).map(drop)
    } else if size > 0 {
        // Nobody reads this byte. Writing it does to times and privileges what writing does.
        open.file.write(&[std::io::IoSlice::new(&[0])], 0, false).map(drop)
    } else {
        Ok(())
    }
}

fn standing(accepted: bool, size: u64, stripes: &Stripes) -> Standing {
    Standing { accepted, size, epoch: stripes.epoch, cut: stripes.cut }
}

fn lock(file: &Mutex<File>) -> MutexGuard<'_, File> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Files whose standing is kept in memory though nobody asks just now.
const FILES_MOST: usize = 16_384;
