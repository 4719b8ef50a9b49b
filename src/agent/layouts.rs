//! The layouts of files: asked for when a file is opened, kept with its node, asked for again when they
//! may be old.
//!
//! Which file system a device has is found out once; a plain directory then costs nothing more. A
//! layout that is wrong or old may cost a window of the scheduler, never a byte of a file.

mod counts;
mod kept;
mod placement;

use std::borrow::Cow;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use dashmap::DashMap;

use iofwd_mount::Errno;
use iofwd_mount::store::{Attr, Controlled};
use iofwd_scheduler::layout::Layout;
use iofwd_scheduler::request::ServerId;

use crate::backend::posix::{File, Identity};
use crate::control;
use crate::layout::{
    self, Advice, Description, Descriptor, Engine, Rule, Server, Servers, Shape, Told,
};
use crate::report::Report;

use super::Agent;
use super::engine::EngineSettings;
use super::files::OpenFile;

use counts::Counts;
use placement::Placement;

pub(super) use kept::Kept;
pub(crate) use kept::Known;

/// What is known of layouts in general.
#[derive(Debug)]
pub(super) struct Layouts {
    servers: Servers,
    rules: Vec<Rule>,
    /// For files that nobody says anything about.
    everything: Description,
    advice: Advice,
    /// Whom to ask on which device.
    devices: DashMap<(u32, u32), Engine>,
    root: PathBuf,
    /// What all those files have, once: of plain files there may be very many.
    plain: OnceLock<Arc<Known>>,
    /// Tells where the objects of Ceph are, if somebody may be asked.
    placement: Option<Placement>,
    counts: Counts,
}

impl Layouts {
    pub(super) fn new(settings: &EngineSettings, root: &Path) -> Result<Layouts, Errno> {
        let servers = match settings.layouts.servers.as_slice() {
            [] => Servers::new(settings.queues()),
            list => Servers::fixed(list),
        };
        let everything = settings.everything().map_err(|reason| {
            tracing::error!(%reason, "no file can be laid out so");
            Errno::EINVAL
        })?;
        if settings.servers > 1 {
            // Their numbers are their places in the rule.
            (0..settings.servers).for_each(|number| {
                servers.number(&Server::Numbered(number));
            });
        }
        Ok(Layouts {
            servers,
            rules: settings.layouts.rules.clone(),
            everything,
            advice: settings.layouts.advice.clone(),
            devices: DashMap::new(),
            root: root.canonicalize()?,
            plain: OnceLock::new(),
            placement: placement::start(settings.layouts.ceph_command.as_ref())?,
            counts: Counts::default(),
        })
    }

    /// How many servers have a number by now.
    pub(super) fn count(&self) -> u32 {
        self.servers.count()
    }

    /// The servers that have a queue, by its number.
    pub(super) fn servers(&self) -> Vec<Server> {
        self.servers.names()
    }

    pub(super) fn report(&self, report: &mut Report) {
        self.counts.report(report);
    }

    /// What is said about an open file, and by whom; `None` without asking if it is known that nobody
    /// says anything.
    fn ask(&self, open: &OpenFile) -> Option<(Engine, Description)> {
        let device = open.node.inode.key().device;
        let engine = self.devices.get(&device).map(|engine| *engine);
        let source = Descriptor(open.file.as_fd());
        match engine {
            Some(Engine::Plain) => return None,
            // Who may write a file need not be allowed to read its attributes.
            _ => Identity::assume_agent(),
        }
        let (engine, said) = match engine {
            Some(engine) => {
                let said = layout::ask(engine, &source, &self.advice);
                (engine, said.unwrap_or_else(|| Ok(Description::plain())))
            }
            None => {
                let found = layout::probe(&source, &self.advice);
                self.remember(device, found.0);
                found
            }
        };
        match said {
            Ok(description) => Some((engine, description)),
            Err(problem) => {
                tracing::warn!(%engine, %problem, "a layout cannot be read; its file counts as one server's");
                Some((engine, Description::plain()))
            }
        }
    }

    fn remember(&self, device: (u32, u32), engine: Engine) {
        // Devices come and go with mounts; those that matter are soon found out again.
        if self.devices.len() >= DEVICES_MOST {
            self.devices.clear();
        }
        self.devices.insert(device, engine);
        tracing::debug!(?device, %engine, "who knows the layouts of a device");
    }

    /// What the settings say about a file.
    fn rule(&self, file: &File, inode: u64) -> Cow<'_, Description> {
        if self.rules.is_empty() {
            return Cow::Borrowed(&self.everything);
        }
        let path = self.path(file).unwrap_or_default();
        let rule = self.rules.iter().find(|rule| rule.pattern.matches(&path));
        rule.map_or(Cow::Borrowed(&self.everything), |rule| Cow::Owned(rule.describe(inode)))
    }

    /// The path of an open file below the export, if it still has one.
    fn path(&self, file: &File) -> Option<Vec<u8>> {
        let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
        let path = std::fs::read_link(link).ok()?;
        let below = path.strip_prefix(&self.root).ok()?;
        Some(below.as_os_str().to_owned().into_vec())
    }

    /// The numbers of the servers in a description.
    fn layout(&self, description: &Description) -> Layout {
        description.layout(&|server| self.servers.number(server)).unwrap_or_else(|error| {
            tracing::warn!(%error, "a layout makes no sense; its file counts as one server's");
            Layout::single(ServerId(0))
        })
    }
}

impl Agent {
    /// Find out where the bytes of a file are that is being opened, unless that is known.
    pub(super) fn find_layout(&self, open: &OpenFile, attr: &Attr) {
        if open.node.layout.is_known_since(attr) {
            return self.layouts.counts.hit();
        }
        self.ask_for_layout(open, attr);
    }

    /// A request met bytes that nobody is known to hold: maybe somebody is by now.
    pub(super) fn ask_again_if_in_doubt(&self, open: &OpenFile) {
        if !open.node.layout.is_in_doubt() || !open.node.layout.settle_doubt() {
            return;
        }
        if let Ok(attr) = open.file.attr(&open.node.inode) {
            self.ask_for_layout(open, &attr);
        }
    }

    fn ask_for_layout(&self, open: &OpenFile, attr: &Attr) {
        let begin = Instant::now();
        let Some((asked, mut description)) = self.layouts.ask(open) else {
            self.layouts.counts.hit();
            return self.apply_rules(open, attr);
        };
        let cost = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.layouts.counts.asked(asked, cost);
        if description.engine == Engine::Plain {
            let inode = open.node.inode.key().number;
            description = self.layouts.rule(&open.file, inode).into_owned();
        }
        if let (Shape::Objects(objects), Some(placement)) =
            (&mut description.shape, &self.layouts.placement)
        {
            placement.fill(objects, &open.node, attr.size);
        }
        let known = self.know(description, asked, attr, cost);
        open.node.layout.keep(Arc::new(known));
    }

    /// Nobody need be asked: the settings say where the bytes of an open file are.
    fn apply_rules(&self, open: &OpenFile, attr: &Attr) {
        let inode = open.node.inode.key().number;
        let known = |description| self.know(description, Engine::Plain, attr, 0);
        let known = match self.layouts.rule(&open.file, inode) {
            Cow::Borrowed(common) => {
                Arc::clone(self.layouts.plain.get_or_init(|| Arc::new(known(common.clone()))))
            }
            Cow::Owned(own) => Arc::new(known(own)),
        };
        open.node.layout.keep(known);
    }

    fn know(&self, description: Description, asked: Engine, attr: &Attr, cost: u64) -> Known {
        let layout = self.layouts.layout(&description);
        // A server has a queue before anybody can ask for it.
        self.engine.grow(self.layouts.servers.count());
        Known { layout, description, asked, changed: attr.ctime, cost }
    }

    /// Tell somebody the layout of an open file.
    pub(super) fn tell_layout(
        &self,
        open: &Arc<OpenFile>,
        argument: &[u8],
        room: usize,
    ) -> Result<Controlled, Errno> {
        let known = open.node.layout.current();
        let told = Told {
            description: known.description.clone(),
            cost: known.cost,
            queues: self.layouts.servers(),
        };
        control::layout_page(&told, argument, room)
    }
}

/// Devices below one export.
const DEVICES_MOST: usize = 1_024;
