//! Data servers that die, and come back or not.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

use super::{Small, check, pattern, said};
use crate::e2e::harness::{Agent, DataServers, Mount, eventually};

/// Parts of a file are written and read while servers are killed and started again, that of the names
/// among them.
#[test]
fn who_uses_a_data_server_that_dies_only_waits() {
    let Some(mut small) = Small::start("4K") else { return };
    let path = small.path("file");
    fs::write(&path, pattern(LENGTH, 0)).unwrap();
    [2, 0].into_iter().for_each(|number| small.servers.prepare(number));
    let end = Instant::now() + Duration::from_secs(6);
    thread::scope(|scope| {
        let users: Vec<_> = (0..4).map(|user| (user, path.clone())).collect();
        for (user, path) in users {
            scope.spawn(move || use_part(&path, user, end));
        }
        for number in [2, 0] {
            small.servers.kill(number);
            thread::sleep(Duration::from_secs(1));
            small.servers.restart(number);
        }
    });
}

/// Write and read back a quarter of the file, again and again.
fn use_part(path: &std::path::Path, user: usize, end: Instant) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let part = LENGTH / 4;
    let mut round = 0u32;
    let mut seen = vec![0; part];
    while Instant::now() < end {
        round += 1;
        let data = pattern(part, round as u8);
        file.write_all_at(&data, (user * part) as u64).unwrap();
        file.read_exact_at(&mut seen, (user * part) as u64).unwrap();
        assert!(seen == data, "user {user}, round {round}");
    }
    assert!(round > 0);
}

/// As when a whole machine is switched on: nobody knows who is there first.
#[test]
fn an_agent_that_is_started_before_its_data_servers_waits_for_them() {
    let Some(mut servers) = DataServers::start(2, "4K") else { return };
    let mut agent = Agent::over_servers(&servers);
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    fs::write(mount.path().join("file"), pattern(LENGTH, 3)).unwrap();
    agent.kill();
    [0, 1].into_iter().for_each(|number| servers.kill(number));
    agent.begin_again();
    for number in [1, 0] {
        let away = format!("cannot reach an agent at {}", servers.addresses()[0]);
        eventually("the agent waits for a server", || agent.said().contains(&away));
        assert!(!agent.said().contains("ready"), "not before its servers");
        servers.restart(number);
    }
    agent.wait_until_ready();
    assert!(fs::read(mount.path().join("file")).unwrap() == pattern(LENGTH, 3));
}

/// Lines are appended while the server that has the names, and gives turns, is killed.
#[test]
fn no_append_is_lost_or_doubled_when_the_server_of_the_names_dies() {
    let Some(mut small) = Small::start("4K") else { return };
    let path = small.path("log");
    fs::write(&path, b"").unwrap();
    [0, 0].into_iter().for_each(|number| small.servers.prepare(number));
    let end = Instant::now() + Duration::from_secs(5);
    let counts: Vec<usize> = thread::scope(|scope| {
        let writers = [0, 1, 2].map(|writer| {
            let path = path.clone();
            scope.spawn(move || append_lines(&path, writer, end))
        });
        for _ in 0..2 {
            thread::sleep(Duration::from_millis(700));
            small.servers.kill(0);
            thread::sleep(Duration::from_secs(1));
            small.servers.restart(0);
        }
        writers.map(|writer| writer.join().unwrap()).into()
    });
    let text = fs::read_to_string(&path).unwrap();
    for (writer, count) in counts.into_iter().enumerate() {
        let mine = text.lines().filter(|line| line.starts_with(&format!("{writer} ")));
        let expected: Vec<String> = (0..count).map(|number| line(writer, number)).collect();
        assert!(mine.eq(expected.iter().filter_map(|line| line.strip_suffix('\n'))), "of {writer}");
    }
}

/// A client whose turn it is writes late; meanwhile the server that gives turns has been started again,
/// and has given one to somebody else.
#[test]
fn who_lost_its_turn_to_append_does_not_write_over_the_next() {
    let Some(mut servers) = DataServers::start(2, "64K") else { return };
    let policy = "[scheduler]\npolicy = \"fifo\"";
    let slow = format!("{}device = \"null,command=3s\"\n", servers.export());
    let late = Agent::exporting(policy, &slow).expect("data servers could be started");
    let prompt = Agent::over_servers(&servers);
    let [first, second] =
        [&late, &prompt].map(|agent| Mount::remote(agent, &agent.over_tcp(), &[]));
    fs::write(second.path().join("log"), "begin\n").unwrap();
    servers.prepare(0);
    let log = first.path().join("log");
    let appended = thread::spawn(move || append(&log, "late\n"));
    eventually("it is its turn, and it writes", || late.number("in_flight") == 1);
    servers.kill(0);
    servers.restart(0);
    append(&second.path().join("log"), "prompt and longer\n");
    appended.join().unwrap();
    let text = fs::read_to_string(second.path().join("log")).unwrap();
    assert_eq!(text, "begin\nprompt and longer\nlate\n");
}

fn append(path: &std::path::Path, line: &str) {
    use std::io::Write as _;
    let mut file = File::options().append(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}

fn append_lines(path: &std::path::Path, writer: usize, end: Instant) -> usize {
    use std::io::Write as _;
    let mut file = File::options().append(true).open(path).unwrap();
    let mut count = 0;
    while Instant::now() < end {
        file.write_all(line(writer, count).as_bytes()).unwrap();
        count += 1;
    }
    count
}

fn line(writer: usize, number: usize) -> String {
    format!("{writer} {number} {}\n", "x".repeat(number * 37 % 6_000))
}

#[test]
fn files_of_a_server_that_stays_away_fail_and_others_do_not() {
    let Some(mut servers) = DataServers::start(2, "64K") else { return };
    let export = format!("{}servers_timeout = \"1s\"\nstripe_count = 1\n", servers.export());
    let agent = Agent::exporting("", &export).expect("data servers could be started");
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    // Files begin on a server by chance: among twenty both have some.
    let paths: Vec<_> = (0..20).map(|n| mount.path().join(format!("file-{n}"))).collect();
    paths.iter().for_each(|path| fs::write(path, b"data").unwrap());
    servers.kill(1);
    let failed = |path: &std::path::PathBuf| match fs::read(path) {
        Ok(data) => {
            assert_eq!(data, b"data");
            false
        }
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(nix::libc::EIO));
            true
        }
    };
    let gone: Vec<bool> = thread::scope(|scope| {
        let tried: Vec<_> = paths.iter().map(|path| scope.spawn(move || failed(path))).collect();
        tried.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(gone.contains(&true) && gone.contains(&false), "{gone:?}");
    servers.restart(1);
    paths.iter().for_each(|path| assert_eq!(fs::read(path).unwrap(), b"data"));
}

/// The names are gone, their objects are not, and the server that knew dies.
#[test]
fn what_was_removed_while_a_server_was_away_is_removed_later() {
    let Some(mut small) = Small::start("64K") else { return };
    fs::write(small.path("file"), pattern(300_000, 1)).unwrap();
    small.servers.kill(3);
    fs::remove_file(small.path("file")).unwrap();
    let orphans = small.servers.directory(0).join("orphans");
    assert_eq!(fs::read_dir(&orphans).unwrap().count(), 1, "it is noted");
    small.servers.restart(3);
    let mut servers = small.leave();
    servers.kill(0);
    servers.restart(0);
    let _agent = Agent::over_servers(&servers);
    eventually("its objects are removed", || servers.objects() == 0);
    eventually("and it is noted no more", || fs::read_dir(&orphans).unwrap().count() == 0);
    let clean = check(&servers, &[]);
    assert!(clean.status.success(), "{}", said(&clean));
}

const LENGTH: usize = 400_000;
