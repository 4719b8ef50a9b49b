//! The log of slow requests: each with its job, its file, its server, and why it waited.

use std::fs;

use crate::e2e::harness::Agent;
use crate::e2e::harness::{Mount, eventually};

#[test]
fn a_request_that_waits_for_its_window_is_logged_with_the_reason() {
    let lines = "[scheduler]\nservers = 2\nwindow = \"400ms\"\n[telemetry]\nslow = \"150ms\"\n";
    let Some(agent) = Agent::exporting(lines, "squash = \"none\"") else { return };
    let mount = Mount::remote(&agent, &agent.over_unix(), &[]);
    // A file on both servers: one of its halves has to wait for the other window.
    fs::write(mount.path().join("striped.dat"), vec![7; 256 << 10]).unwrap();
    let line = || {
        let said = agent.said();
        said.lines().find(|line| line.contains("slow request")).map(str::to_owned)
    };
    eventually("a line about a slow request", || line().is_some());
    let line = line().unwrap();
    for part in
        ["WARN", "file=striped.dat", "operation=\"write\"", "job=\"uid_0\"", "windows of server"]
    {
        assert!(line.contains(part), "no {part} in {line}");
    }
}
