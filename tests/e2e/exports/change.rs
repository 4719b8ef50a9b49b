//! Changing an agent while it runs, and ending it.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::Signal;

use crate::e2e::harness::{Agent, Mount, eventually};

use super::iofwd;

fn place(agent: &Agent) -> String {
    format!("unix:{}", agent.socket().display())
}

fn status(agent: &Agent, name: &str) -> String {
    let output = iofwd(&["ctl", &place(agent), "status"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
}

#[test]
fn the_policy_changes_under_load_and_nothing_is_lost() {
    let Some(agent) = Agent::start("") else { return };
    let mount = Mount::remote(&agent, &agent.over_unix(), &[]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (path, stop) = (mount.path().join(format!("file{writer}")), &stop);
                scope.spawn(move || {
                    let mut rounds = 0u32;
                    while !stop.load(Ordering::Relaxed) || rounds == 0 {
                        let data = vec![rounds as u8; 200_000];
                        fs::write(&path, &data).unwrap();
                        assert!(fs::read(&path).unwrap() == data, "round {rounds}");
                        rounds += 1;
                    }
                })
            })
            .collect();
        for policy in
            ["fifo", "hbrr", "sjf", "aioli", "mlf", "sw", "to-agg", "wfq", "none", "twins"]
        {
            let change = format!("policy={policy}");
            let output = iofwd(&["ctl", &place(&agent), "set", &change, "window=2ms", "depth=8"]);
            assert!(output.status.success(), "{output:?}");
            assert_eq!(status(&agent, "policy"), policy);
        }
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    for (words, why) in [
        ("policy=nonsense", "choose one of"),
        ("window=soon", "soon"),
        ("depth=0", "1"),
        ("colour=red", "none of policy"),
    ] {
        let output = iofwd(&["ctl", &place(&agent), "set", words]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{words}: {said}");
    }
    assert_eq!(status(&agent, "policy"), "twins");
    assert_eq!(status(&agent, "lost"), "0");
}

#[test]
fn an_agent_answers_calls_that_do_nothing() {
    let Some(agent) = Agent::start("") else { return };
    let output = iofwd(&["ctl", &place(&agent), "ping", "--count", "50", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["calls"], 50);
    assert!(
        report["min_ns"].as_u64() > Some(0)
            && report["p50_ns"].as_u64() <= report["p99_ns"].as_u64()
    );
}

#[test]
fn only_the_agents_own_user_changes_it() {
    let Some(agent) = Agent::start("") else { return };
    let tcp = agent.over_tcp();
    let output = iofwd(&["ctl", tcp.split('/').next().unwrap(), "set", "policy=fifo"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("unix socket"), "{said}");
}

#[test]
fn a_hang_up_reads_the_settings_again() {
    let Some(mut agent) = Agent::exporting("", "squash = \"none\"") else { return };
    let file = agent.file("agent.toml");
    let before = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{before}\n[scheduler]\npolicy = \"sjf\"\n")).unwrap();
    agent.signal(Signal::SIGHUP);
    eventually("the new policy", || status(&agent, "policy") == "sjf");
    fs::write(&file, "listen = 7").unwrap();
    agent.signal(Signal::SIGHUP);
    eventually("a complaint", || agent.said().contains("nothing was changed"));
    assert_eq!(status(&agent, "policy"), "sjf");
}

#[test]
fn an_agent_that_is_told_to_end_finishes_and_counts() {
    let Some(mut agent) = Agent::start("") else { return };
    let mount = Mount::remote(&agent, &agent.over_unix(), &[]);
    fs::write(mount.path().join("file"), vec![1; 1 << 20]).unwrap();
    drop(mount);
    let socket = agent.socket().to_owned();
    agent.signal(Signal::SIGTERM);
    eventually("the last words", || agent.said().contains("0 lost"));
    assert!(agent.said().contains("everything is durable"), "{}", agent.said());
    eventually("nobody listens", || std::os::unix::net::UnixStream::connect(&socket).is_err());
}

#[test]
fn a_program_can_be_started_while_files_are_open() {
    let Some(agent) = Agent::start("") else { return };
    let mount = Mount::remote(&agent, &agent.over_unix(), &[]);
    // Closed by the kernel in the middle of becoming another program, when the process cannot be
    // looked at.
    let _open = fs::File::create(mount.path().join("open")).unwrap();
    for _ in 0..20 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        eventually("a program has ended", || child.try_wait().unwrap().is_some());
    }
}
