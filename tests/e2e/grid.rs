//! Several agents on one grid: each knows its number, and all number the servers alike.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::harness::{Agent, DataServers, Mount, program};

/// Two agents that meet the servers in opposite orders, with and without a list.
#[test]
fn agents_with_the_same_list_number_servers_alike() {
    let rules = "[[stripes]]\npattern = \"first\"\nservers = 4\nfirst = 2\n\
                 [[stripes]]\npattern = \"second\"\nservers = 4\nfirst = 1\n";
    let list = "[layout]\nservers = [\"server:3\", \"server:0-2\"]\n";
    let lines = |index: u32| format!("[agent]\nindex = {index}\ncount = 2\n{list}{rules}");
    let Some(one) = Agent::exporting(&lines(0), "squash = \"none\"") else { return };
    let Some(two) = Agent::exporting(&lines(1), "squash = \"none\"") else { return };
    for (agent, names) in [(&one, ["first", "second"]), (&two, ["second", "first"])] {
        let mount = Mount::remote(agent, &agent.over_unix(), &[]);
        names.iter().for_each(|name| fs::write(mount.path().join(name), [1; 300_000]).unwrap());
        let report = status(agent);
        let servers = [0, 1, 2, 3].map(|number| report[format!("server_{number}_is")].clone());
        assert_eq!(servers, ["server:3", "server:0", "server:1", "server:2"]);
        assert_eq!(report["servers"], 4);
        assert_eq!(report["agent_count"], 2);
    }
    assert_eq!((one.number("agent_index"), two.number("agent_index")), (0, 1));
    // It keeps its number when its policy changes.
    let place = format!("unix:{}", two.socket().display());
    for policy in ["policy=fifo", "policy=twins"] {
        let told = Command::new(program()).args(["ctl", &place, "set", policy]).output().unwrap();
        assert!(told.status.success(), "{told:?}");
    }
    assert_eq!(two.number("agent_index"), 1);
}

/// Agents that are told how many they are, and not which, agree.
#[test]
fn agents_take_numbers_that_are_free() {
    let lines = "[agent]\ncount = 2\n";
    let Some(mut one) = Agent::exporting(lines, "squash = \"none\"") else { return };
    let shared = format!("state = {:?}\n{lines}", one.state());
    let Some(two) = Agent::exporting(&shared, "squash = \"none\"") else { return };
    assert_eq!((one.number("agent_index"), two.number("agent_index")), (0, 1));
    one.kill();
    let Some(three) = Agent::exporting(&shared, "squash = \"none\"") else { return };
    assert_eq!(three.number("agent_index"), 0, "it is free again");
    drop(two);
    one.start_again();
    assert_eq!(one.number("agent_index"), 1);
}

/// Never faster than the device; how much slower is the machine's business.
#[test]
fn an_export_with_a_device_takes_as_long_as_the_device() {
    let device = "squash = \"none\"\ndevice = \"null,read=4M,write=4M\"";
    let Some(agent) = Agent::exporting("", device) else { return };
    let mount = Mount::remote(&agent, &agent.over_unix(), &[]);
    let bytes: Vec<u8> = (0..1 << 20).map(|at| (at % 253) as u8).collect();
    let begun = Instant::now();
    fs::write(mount.path().join("file"), &bytes).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(250), "{:?}", begun.elapsed());
    let begun = Instant::now();
    assert!(fs::read(mount.path().join("file")).unwrap() == bytes);
    assert!(begun.elapsed() >= Duration::from_millis(250), "{:?}", begun.elapsed());
}

/// Who meets whom is counted where it happens.
#[test]
fn agents_that_meet_at_a_data_server_are_counted_there() {
    // Slow enough that two who begin at the same time are there at the same time.
    let slow = ["--device=null,read=4M", "--window=10ms"];
    let Some(servers) = DataServers::with(2, "64K", &slow) else { return };
    let agents = [0, 1].map(|_| Agent::over_servers(&servers));
    let mounts = agents.each_ref().map(|agent| Mount::remote(agent, &agent.over_unix(), &[]));
    let bytes = vec![7; 1 << 20];
    fs::write(mounts[0].path().join("file"), &bytes).unwrap();
    let count = |name: &str| {
        let of = |address: &String| status_of(address)[name].as_u64().unwrap();
        servers.addresses().iter().map(of).sum::<u64>()
    };
    assert_eq!((count("requests_met"), count("windows_shared")), (0, 0), "there was one agent");
    let moved = count("device_bytes");
    assert_eq!(moved, 1 << 20);
    thread::scope(|scope| {
        for mount in &mounts {
            scope.spawn(|| assert!(fs::read(mount.path().join("file")).unwrap() == bytes));
        }
    });
    assert!(count("device_bytes") >= moved + (2 << 20));
    assert!(count("requests_met") > 0 && count("windows_shared") > 0);
    assert!(count("windows_used") >= count("windows_shared"));
    assert!(count("used_ns") >= count("shared_ns"));
}

fn status(agent: &Agent) -> serde_json::Value {
    status_of(&format!("unix:{}", agent.socket().display()))
}

fn status_of(place: &str) -> serde_json::Value {
    let output = Command::new(program()).args(["status", "--json", place]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}
