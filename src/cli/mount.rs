//! `iofwd mount`: checks what was typed, mounts, serves until it is unmounted.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use iofwd_mount::{Options, Session};

use crate::agent::Agent;
use crate::agent::engine::EngineSettings;
use crate::backend::posix::{self, Identity};
use crate::mounts;

use super::background::{self, Parent, Side};
use super::{Failure, MountArguments, quantity, say_error, signals};

/// What is meant by what was typed.
struct Plan {
    source: PathBuf,
    options: Options,
    settings: EngineSettings,
    foreground: bool,
    log_file: Option<PathBuf>,
}

pub(super) fn run(arguments: &MountArguments) -> Result<ExitCode, Failure> {
    let plan = plan(arguments)?;
    check_places(&plan.source, &plan.options.mountpoint, arguments.force)?;
    if !Identity::can_be_assumed() {
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
    start_log(arguments, plan.log_file.as_deref())
        .and_then(|()| serve(&plan, &mut parent))
        .map_err(|f| parent.fail(f))
}

fn serve(plan: &Plan, parent: &mut Parent) -> Result<ExitCode, Failure> {
    let mountpoint = &plan.options.mountpoint;
    let signals = signals::block();
    posix::raise_limit();
    let agent = Agent::new(&plan.source, &plan.settings)
        .map_err(|errno| format!("cannot export {}: {errno}", plan.source.display()))?;
    let agent = Arc::new(agent);
    let session = Session::mount(Arc::clone(&agent) as Arc<_>, &plan.options)
        .map_err(|error| explain_mount(&error, mountpoint))?;
    signals::watch(signals, mountpoint.clone(), Arc::clone(&agent))
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    check_usable(mountpoint)?;
    tracing::info!(source = %plan.source.display(), mountpoint = %mountpoint.display(),
        cache = %plan.options.cache, policy = plan.settings.policy, "mounted");
    parent.succeed();
    session.wait();
    finish(&agent)
}

fn finish(agent: &Agent) -> Result<ExitCode, Failure> {
    agent.settle().map_err(|errno| format!("not everything could be made durable: {errno}"))?;
    let report = agent.report();
    tracing::info!(
        reads = report.get("reads"),
        writes = report.get("writes"),
        "unmounted; everything is durable"
    );
    Ok(ExitCode::SUCCESS)
}

/// The mount answers. Asked from another process, because a mount cannot wait for itself.
fn check_usable(mountpoint: &Path) -> Result<(), Failure> {
    let output =
        std::process::Command::new("/proc/self/exe").arg("status").arg(mountpoint).output();
    match output {
        Ok(output) if !output.status.success() => Err(format!(
            "mounted, but {} does not answer: {}",
            mountpoint.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        _ => Ok(()),
    }
}

fn plan(arguments: &MountArguments) -> Result<Plan, Failure> {
    let source = arguments.source.canonicalize().map_err(|error| {
        format!("cannot use {} as the source: {error}", arguments.source.display())
    })?;
    let mountpoint = mounts::resolve(&arguments.mountpoint).map_err(|error| {
        let place = arguments.mountpoint.display();
        match error.kind() {
            io::ErrorKind::NotFound => {
                format!("there is no directory {place} to mount on: make one first (mkdir)")
            }
            _ => format!("cannot use {place} as the mountpoint: {error}"),
        }
    })?;
    let mut plan = Plan {
        options: Options {
            cache: arguments.cache,
            allow_other: arguments.allow_other,
            read_only: arguments.read_only,
            threads: arguments.threads as usize,
            ..Options::new(mountpoint, source.display().to_string())
        },
        settings: EngineSettings {
            policy: arguments.policy.clone(),
            window: arguments.window,
            servers: arguments.servers,
            stripe: arguments.stripe,
            depth: arguments.depth,
            record: arguments.record.as_deref().and_then(|path| std::path::absolute(path).ok()),
        },
        source,
        foreground: arguments.foreground,
        // The process that logs has another working directory than the one that was typed in.
        log_file: arguments.log_file.as_deref().and_then(|path| std::path::absolute(path).ok()),
    };
    arguments.options.iter().try_for_each(|option| plan.apply(option))?;
    plan.settings.check()?;
    Ok(plan)
}

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
            ("cache", mode) => options.cache = mode.parse()?,
            ("policy", name) => self.settings.policy = name.into(),
            ("window", time) => self.settings.window = Some(quantity::span(time)?),
            ("stripe", size) => self.settings.stripe = quantity::bytes(size)?,
            ("servers", count) => self.settings.servers = number(option, count)?,
            ("depth", count) => self.settings.depth = number(option, count)?,
            ("threads", count) => options.threads = number(option, count)?,
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
fn check_places(source: &Path, mountpoint: &Path, force: bool) -> Result<(), Failure> {
    if !source.is_dir() {
        return Err(format!(
            "{} is not a directory: only directories can be forwarded",
            source.display()
        ));
    }
    replace_dead(mountpoint, force)?;
    if !mountpoint.is_dir() {
        return Err(format!("{} is not a directory: mount on a directory", mountpoint.display()));
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
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "cannot mount on {place}: {error}; is /dev/fuse there (modprobe fuse), and, for \
             ordinary users, fusermount3 (package fuse3)?"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "cannot mount on {place}: {error}; ordinary users need fusermount3 (package fuse3), \
             a mountpoint of their own, and user_allow_other in /etc/fuse.conf for --allow-other"
        ),
        _ => format!("cannot mount on {place}: {}", error.to_string().trim()),
    }
}

fn start_log(arguments: &MountArguments, file: Option<&Path>) -> Result<(), Failure> {
    let filter = tracing_subscriber::EnvFilter::try_new(&arguments.log)
        .map_err(|error| format!("log level '{}': {error}", arguments.log))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_target(false);
    match file {
        Some(path) => {
            let file = File::options().append(true).create(true).open(path).map_err(|error| {
                format!("cannot write the log file {}: {error}", path.display())
            })?;
            log.with_ansi(false).with_writer(Mutex::new(file)).init();
        }
        None => log.with_writer(io::stderr).init(),
    }
    Ok(())
}
