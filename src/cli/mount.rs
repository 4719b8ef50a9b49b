//! `iofwd mount`: checks what was typed, mounts, serves until it is unmounted.

mod agents;
mod behind;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use iofwd_mount::{Options, Session};

use crate::agent::Agent;
use crate::agent::engine::{EngineSettings, LayoutSettings};
use crate::agent::look::Names;
use crate::backend::posix::{self, Identity};
use crate::client::Source;
use crate::key::Key;
use crate::mounts;
use crate::settings::AgentPlace;
use crate::striped::{Setup, Striped};

use super::background::{self, Parent, Side};
use super::log::LogArguments;
use super::{Failure, MountArguments, layout, quantity, say_error, signals};

use agents::Agents;
pub(super) use behind::{Behind, settle};
use behind::{finish, publish, shown};

/// What is meant by what was typed.
struct Plan {
    source: From,
    options: Options,
    settings: EngineSettings,
    metrics: Option<SocketAddr>,
    introspect: bool,
    foreground: bool,
    log: LogArguments,
}

/// What is mounted.
enum From {
    /// A directory, through an agent of our own.
    Directory(PathBuf),
    /// What agents elsewhere export.
    Agents(Agents),
    /// Files striped over data servers, through an agent of our own.
    Servers(Box<Setup>),
}

pub(super) fn run(arguments: &MountArguments) -> Result<ExitCode, Failure> {
    let plan = plan(arguments)?;
    replace_dead(&plan.options.mountpoint, arguments.force)?;
    check_places(&plan.source, &plan.options.mountpoint)?;
    if !Identity::can_be_assumed() && matches!(plan.source, From::Directory(_)) {
        say_error(&format!(
            "not run as root: everything on the mount is done as user {}, whoever asks",
            nix::unistd::geteuid()
        ));
    }
    let mut parent = Parent::none();
    if !plan.foreground {
        match background::detach()? {
            Side::Parent(code) => return Ok(code),
            Side::Child(child) => parent = child,
        }
    }
    plan.log.start().and_then(|()| serve(plan, &mut parent)).map_err(|f| parent.fail(f))
}

fn serve(plan: Plan, parent: &mut Parent) -> Result<ExitCode, Failure> {
    let mountpoint = &plan.options.mountpoint;
    let signals = signals::block();
    posix::raise_limit();
    let behind = plan.source.open(&plan.settings, plan.metrics)?;
    let session = Session::mount(shown(plan.introspect, &behind), &plan.options)
        .map_err(|error| explain_mount(&error, mountpoint))?;
    let told_to_leave = signals::watch(signals, mountpoint.clone(), Arc::clone(&behind))
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    // Whoever is told to leave at once, or is unmounted before we could look, was usable enough.
    check_usable(mountpoint).or_else(|failure| {
        let is_over = told_to_leave.load(Ordering::SeqCst) || !is_ours(mountpoint);
        if is_over { Ok(()) } else { Err(failure) }
    })?;
    tracing::info!(source = plan.options.source, mountpoint = %mountpoint.display(),
        cache = %plan.options.cache, "mounted");
    parent.succeed();
    session.wait();
    finish(&*behind)
}

impl From {
    fn set_key(&mut self, file: &Path) -> Result<(), Failure> {
        let key = || Key::load(file).map_err(|error| error.to_string());
        match self {
            From::Agents(agents) => agents.set_key(&key()?),
            From::Servers(setup) => setup.key = Some(key()?),
            From::Directory(_) => return Err("key_file: a directory needs no key".into()),
        }
        Ok(())
    }

    fn set_loss_bound(&mut self, bound: Duration) -> Result<(), Failure> {
        match self {
            From::Agents(agents) => {
                agents.set_loss_bound(bound);
                Ok(())
            }
            From::Servers(setup) => {
                setup.patience = bound;
                Ok(())
            }
            From::Directory(_) => Err("on_loss, loss_bound: a directory cannot be lost".into()),
        }
    }

    fn open(
        self,
        settings: &EngineSettings,
        metrics: Option<SocketAddr>,
    ) -> Result<Arc<dyn Behind>, Failure> {
        match self {
            From::Directory(path) => {
                let agent = Agent::new(&path, settings)
                    .map_err(|errno| format!("cannot export {}: {errno}", path.display()))?;
                let agent = Arc::new(agent);
                publish(metrics, &agent, |agent| agent.snapshot(Names::Kept))?;
                Ok(agent)
            }
            From::Servers(setup) => {
                let striped = Striped::open(&setup, settings, Duration::ZERO)?;
                publish(metrics, &striped, Striped::snapshot)?;
                Ok(striped)
            }
            From::Agents(_) if metrics.is_some() => {
                Err("--metrics: the agent has the numbers; set [telemetry] listen in its settings"
                    .into())
            }
            From::Agents(agents) => Ok(agents.connect()?),
        }
    }
}

/// The mount answers. Asked from another process, because a mount cannot wait for itself.
fn check_usable(mountpoint: &Path) -> Result<(), Failure> {
    let mut asked = std::process::Command::new("/proc/self/exe");
    match asked.args(["status", "--once"]).arg(mountpoint).output() {
        Ok(output) if !matches!(output.status.code(), Some(0 | ANSWERED)) => Err(format!(
            "mounted, but {} does not answer: {}",
            mountpoint.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        _ => Ok(()),
    }
}

/// It answers that something is wrong, and it answers.
const ANSWERED: i32 = super::status::UNWELL as i32;

/// Whether what is mounted there is of our kind.
fn is_ours(mountpoint: &Path) -> bool {
    let found = mounts::at(mountpoint).ok().flatten();
    found.is_some_and(|mount| mount.kind == mounts::TYPE)
}

fn layouts(arguments: &MountArguments) -> Result<LayoutSettings, Failure> {
    let mut layouts = LayoutSettings { queues: arguments.queues, ..LayoutSettings::default() };
    // A name is looked for where programs are; a path is one from here, not from where it serves.
    let here = |path: &PathBuf| match path.components().count() {
        1 => Some(path.clone()),
        _ => std::path::absolute(path).ok(),
    };
    layouts.ceph_command = arguments.ceph_command.as_ref().and_then(here);
    layouts.advice.pvfs = arguments.pvfs_config.as_deref().map(layout::pvfs_ranges).transpose()?;
    Ok(layouts)
}

fn plan(arguments: &MountArguments) -> Result<Plan, Failure> {
    let mountpoint = mounts::resolve(&arguments.mountpoint).map_err(|error| {
        let place = arguments.mountpoint.display();
        if error.kind() == io::ErrorKind::NotFound {
            format!("there is no directory {place} to mount on: make one first (mkdir)")
        } else {
            format!("cannot use {place} as the mountpoint: {error}")
        }
    })?;
    let (source, shown) = source(arguments, &mountpoint)?;
    let mut plan = Plan {
        options: Options {
            cache: arguments.cache,
            allow_other: arguments.allow_other,
            read_only: arguments.read_only,
            threads: arguments.threads as usize,
            rings: !arguments.no_rings,
            ..Options::new(mountpoint, shown)
        },
        settings: EngineSettings {
            policy: arguments.policy.clone(),
            window: arguments.window,
            gather: arguments.gather,
            servers: arguments.servers,
            stripe: arguments.stripe,
            place: AgentPlace::default(),
            layouts: layouts(arguments)?,
            data: arguments.data,
            device: arguments.device.clone(),
            depth: arguments.depth,
            job_variables: arguments.job_variables.clone(),
            record: arguments.record.as_deref().and_then(|path| std::path::absolute(path).ok()),
            slow: arguments.slow,
        },
        source,
        metrics: arguments.metrics,
        introspect: arguments.introspect,
        foreground: arguments.foreground,
        // The process that logs has another working directory than the one that was typed in.
        log: arguments.log.absolute(),
    };
    arguments.options.iter().try_for_each(|option| plan.apply(option))?;
    plan.settings.check()?;
    Ok(plan)
}

/// What is to be mounted, and how the list of mounts shows it.
fn source(arguments: &MountArguments, mountpoint: &Path) -> Result<(From, String), Failure> {
    let typed = &arguments.source;
    if let Some(list) = typed.to_str().and_then(|typed| typed.strip_prefix("servers:")) {
        return servers(arguments, list);
    }
    let agent = typed.to_str().and_then(Source::parse).filter(|_| !typed.is_dir());
    let Some(agent) = agent else {
        let path = typed.canonicalize().map_err(|error| {
            format!(
                "cannot use {} as the source: {error}; write a directory, HOST:PORT/EXPORT or \
                 unix:PATH:EXPORT",
                typed.display()
            )
        })?;
        let shown = path.display().to_string();
        return Ok((From::Directory(path), shown));
    };
    let agents = Agents::new(arguments, &agent, mountpoint)?;
    let shown = arguments.source.display().to_string();
    Ok((From::Agents(agents), shown))
}

/// Files striped over these data servers.
fn servers(arguments: &MountArguments, list: &str) -> Result<(From, String), Failure> {
    let servers: Vec<String> = list.split(',').map(String::from).collect();
    if let Some(wrong) = servers.iter().find(|server| Source::parse(server).is_none()) {
        return Err(format!("'{wrong}' is no data server: write servers:HOST:PORT,HOST:PORT,..."));
    }
    let key = arguments.key_file.as_deref().map(Key::load).transpose();
    let setup = Setup {
        stripe_count: servers.len() as u32,
        servers,
        key: key.map_err(|error| error.to_string())?,
        stripe_size: arguments.stripe,
        patience: SERVERS_PATIENCE,
    };
    Ok((From::Servers(Box::new(setup)), format!("servers:{list}")))
}

/// How long a data server that is away is waited for.
const SERVERS_PATIENCE: Duration = Duration::from_secs(60);

impl Plan {
    /// One word behind `-o`: ours, or for the kernel.
    fn apply(&mut self, option: &str) -> Result<(), Failure> {
        let options = &mut self.options;
        match option.split_once('=').unwrap_or((option, "")) {
            ("rw", "") => options.read_only = false,
            ("ro", "") => options.read_only = true,
            ("suid", "") => options.suid = true,
            ("nosuid", "") => options.suid = false,
            ("dev", "") => options.dev = true,
            ("nodev", "") => options.dev = false,
            ("allow_other", "") => options.allow_other = true,
            ("introspect", "") => self.introspect = true,
            ("cache", mode) => options.cache = mode.parse()?,
            ("policy", name) => self.settings.policy = name.into(),
            ("window", time) => self.settings.window = Some(quantity::span(time)?),
            ("gather", "") => self.settings.gather = true,
            ("stripe", size) => self.settings.stripe = quantity::bytes(size)?,
            ("servers", count) => self.settings.servers = number(option, count)?,
            ("data", way) => self.settings.data = way.parse()?,
            ("device", device) => self.settings.device = Some(device.parse()?),
            ("depth", count) => self.settings.depth = number(option, count)?,
            ("norings", "") => options.rings = false,
            ("threads", count) => options.threads = number(option, count)?,
            ("key_file", path) => self.source.set_key(Path::new(path))?,
            ("on_loss", "wait") => {}
            ("on_loss", "error") => self.source.set_loss_bound(Duration::ZERO)?,
            ("loss_bound", seconds) => {
                let seconds = Duration::from_secs(number(option, seconds)?);
                self.source.set_loss_bound(seconds)?;
            }
            // For mount(8) and its table, not for file systems.
            ("defaults" | "auto" | "noauto" | "user" | "users" | "nofail" | "_netdev", _) => {}
            (known, _) if KERNEL_OPTIONS.contains(&known) => options.extra.push(option.into()),
            (key, _) if key.starts_with("x-") || key.starts_with("comment") => {}
            ("", _) => {}
            _ => return Err(format!("no option '{option}': see iofwd mount --help and mount(8)")),
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|_| format!("option '{option}': '{text}' is no whole number"))
}

const KERNEL_OPTIONS: [&str; 12] = [
    "exec",
    "noexec",
    "atime",
    "noatime",
    "sync",
    "async",
    "dirsync",
    "context",
    "fscontext",
    "defcontext",
    "rootcontext",
    "default_permissions",
];

/// Refuse places that cannot work, and say why.
fn check_places(source: &From, mountpoint: &Path) -> Result<(), Failure> {
    if !mountpoint.is_dir() {
        return Err(format!("{} is not a directory: mount on a directory", mountpoint.display()));
    }
    let From::Directory(source) = source else { return Ok(()) };
    if !source.is_dir() {
        return Err(format!(
            "{} is not a directory: only directories can be forwarded",
            source.display()
        ));
    }
    if mountpoint != source && mountpoint.starts_with(source) {
        return Err(format!(
            "{} lies inside {}: the mount would contain itself; choose a place outside",
            mountpoint.display(),
            source.display()
        ));
    }
    Ok(())
}

/// A mount whose process died leaves a mountpoint that answers nothing.
fn replace_dead(mountpoint: &Path, force: bool) -> Result<(), Failure> {
    loop {
        match std::fs::metadata(mountpoint) {
            Err(error) if mounts::is_dead(&error) => {}
            _ => return Ok(()),
        }
        if !force {
            return Err(format!(
                "{} is the mountpoint of a mount whose process died: nothing can be read there; \
                 mount with --force to replace it, or remove it with: iofwd unmount {0}",
                mountpoint.display()
            ));
        }
        mounts::detach(mountpoint).map_err(|error| {
            format!("cannot remove the dead mount on {}: {error}", mountpoint.display())
        })?;
    }
}

fn explain_mount(error: &io::Error, mountpoint: &Path) -> Failure {
    let place = mountpoint.display();
    let remedy = if error.kind() == io::ErrorKind::NotFound {
        "; is /dev/fuse there (modprobe fuse), and, for ordinary users, fusermount3 (package fuse3)?"
    } else if error.kind() == io::ErrorKind::PermissionDenied {
        "; ordinary users need fusermount3 (package fuse3), a mountpoint of their own, and \
         user_allow_other in /etc/fuse.conf for --allow-other"
    } else {
        ""
    };
    format!("cannot mount on {place}: {}{remedy}", error.to_string().trim())
}
