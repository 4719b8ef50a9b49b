//! `iofwd status`: true numbers, problems first, an exit code, and messages that help.

use std::process::{Command, Output};

use crate::e2e::harness::{Agent, Mount, program};

use super::load;

fn status(words: &[&str]) -> Output {
    Command::new(program()).arg("status").args(words).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn the_status_is_what_a_known_load_did() {
    let Some(mount) = Mount::start(&["--servers=4", "--window=500us"]) else { return };
    load::run(mount.path());
    let output = status(&[mount.path().to_str().unwrap()]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("well\n"), "{text}");
    assert!(text.contains("policy twins, windows of 500 us"), "{text}");
    assert!(text.contains("leaving clients 64.0 KiB"), "{text}");
    assert!(text.contains("known-0.dat") && text.contains("1.00 MiB"), "{text}");
    let json = said(&status(&["--json", mount.path().to_str().unwrap()]));
    let seen: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&seen["reads"], &seen["healthy"]), (&load::EACH.into(), &true.into()));
    let export = &seen["exports"][0];
    let servers = export["servers"].as_array().unwrap();
    let sum = |field: &str| servers.iter().map(|s| s[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!((servers.len(), sum("bytes_written")), (4, load::BYTES));
    assert_eq!((sum("writes"), sum("failed"), sum("queued")), (load::EACH, 0, 0));
    for server in servers {
        let (wait, busy) = (&server["wait"]["count"], server["busy_ns"].as_u64().unwrap());
        assert_eq!(*wait, load::EACH / 2);
        assert!(busy > 0 && busy < seen["uptime_ns"].as_u64().unwrap(), "{json}");
    }
    let files = export["files"].as_array().unwrap();
    assert_eq!(files.len() as u64, load::FILES);
    for file in files {
        assert_eq!(file["bytes_read"], load::BYTES / load::FILES, "{json}");
    }
    assert_eq!(export["jobs"][0]["bytes_written"], load::BYTES);
}

#[test]
fn an_agent_tells_of_its_clients_and_names_of_files_to_its_master_only() {
    let Some(agent) = Agent::start("") else { return };
    let mount = Mount::remote(&agent, &agent.over_unix(), &[]);
    load::run(mount.path());
    let place = format!("unix:{}", agent.socket().display());
    let output = status(&[&place]);
    let text = said(&output);
    assert!(output.status.success() && text.contains("\n1 clients, "), "{text}");
    assert!(text.contains(&load::name(0)), "{text}");
    // Through the mount the client tells of itself as well.
    let through = said(&status(&[mount.path().to_str().unwrap()]));
    assert!(through.contains("client of unix:"), "{through}");
    assert!(through.contains("2 connections"), "{through}");
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program());
    let output = other.args(["status", &place]).output().unwrap();
    let text = said(&output);
    assert!(output.status.success() && text.contains("node "), "{text}");
    assert!(!text.contains("known-"), "{text}");
}

#[test]
fn who_cannot_be_asked_is_told_with_what_to_do() {
    let Some(mount) = Mount::start(&[]) else { return };
    let plain = mount.plain().to_str().unwrap().to_owned();
    for (place, code, why) in [
        (plain.as_str(), 1, "findmnt -t fuse.iofwd"),
        ("/nowhere/at/all", 1, "there is no /nowhere/at/all"),
        ("unix:/nowhere/socket", 1, "does iofwd agent run there?"),
        ("127.0.0.1:1", 1, "does iofwd agent run there?"),
    ] {
        let output = status(&[place]);
        assert_eq!(output.status.code(), Some(code), "{place}");
        assert!(said(&output).contains(why), "{place}: {}", said(&output));
    }
}
