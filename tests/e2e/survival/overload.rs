//! A data server that cannot keep up: whoever writes to it waits, and nobody else does.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::e2e::harness::{Agent, DataServers, Mount};

/// Two data servers with whole files on each, an agent over them, a client of it.
struct Scene {
    mount: Mount,
    _agent: Agent,
    servers: DataServers,
}

impl Scene {
    fn start(policy: &str) -> Option<Scene> {
        let servers = DataServers::start(2, "64K")?;
        let export = format!("{}stripe_count = 1\n", servers.export());
        let agent = Agent::exporting(&format!("[scheduler]\npolicy = \"{policy}\""), &export)?;
        let mount = Mount::remote(&agent, &agent.over_unix(), &[]);
        Some(Scene { mount, _agent: agent, servers })
    }

    /// Files on the first server, and on the second; at least so many of each.
    fn files(&self, least: usize) -> [Vec<PathBuf>; 2] {
        let mut files = [Vec::new(), Vec::new()];
        for number in 0.. {
            let path = self.mount.path().join(format!("file-{number}"));
            fs::write(&path, b"where is it?").unwrap();
            let place = usize::from(self.servers.objects_of(1) > files[1].len());
            files[place].push(path);
            if files.iter().all(|some| some.len() >= least) {
                break;
            }
        }
        files
    }
}

/// Writes to a file once, and maybe has it made durable.
fn write(path: &Path, number: usize) -> JoinHandle<()> {
    let file = File::options().write(true).open(path).unwrap();
    thread::spawn(move || {
        file.write_all_at(&content(number), 0).unwrap();
        if number.is_multiple_of(4) {
            file.sync_all().unwrap();
        }
    })
}

/// Large ones fill the room that a client has at its agent, small ones keep threads of the agent busy.
fn content(number: usize) -> Vec<u8> {
    vec![number as u8 + 1; if number.is_multiple_of(2) { 1 << 20 } else { 4 << 10 }]
}

/// What somebody does who has nothing to do with that server. Tells when it is done.
fn work(files: Vec<PathBuf>, others: Vec<PathBuf>) -> Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for round in 0..20 {
            for path in &files {
                let (file, data) = (File::create(path).unwrap(), content(round));
                file.write_all_at(&data, 0).unwrap();
                file.sync_all().unwrap();
                assert!(fs::read(path).unwrap() == data);
            }
            // The names of its files are elsewhere.
            others.iter().for_each(|path| assert!(fs::symlink_metadata(path).is_ok()));
        }
        let _ = sender.send(());
    });
    receiver
}

fn nobody_else_waits(policy: &str) {
    let Some(mut scene) = Scene::start(policy) else { return };
    let [quick, slow] = scene.files(WRITERS);
    scene.servers.signal(1, Signal::SIGSTOP);
    let writers: Vec<_> =
        slow.iter().enumerate().map(|(number, path)| write(path, number)).collect();
    let done = work(quick[..4].to_vec(), slow.clone()).recv_timeout(BOUND);
    let are_waiting = writers.iter().all(|writer| !writer.is_finished());
    scene.servers.signal(1, Signal::SIGCONT);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert!(done.is_ok(), "{policy}: others wait for a server that they do not use");
    assert!(are_waiting, "{policy}: it was stopped");
    for (number, path) in slow.iter().enumerate() {
        let data = fs::read(path).unwrap();
        assert!(data.starts_with(&content(number)), "{policy}: file {number}");
    }
}

#[test]
fn a_server_that_cannot_keep_up_holds_up_nobody_else() {
    nobody_else_waits("twins");
}

#[test]
fn a_server_that_cannot_keep_up_holds_up_nobody_else_without_windows() {
    nobody_else_waits("fifo");
}

const WRITERS: usize = 64;
/// Less than the agent waits for a server that is away.
const BOUND: Duration = Duration::from_secs(40);
