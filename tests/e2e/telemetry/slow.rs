//! The log of slow requests: each with its job, its file, its server, and why it waited.

use std::fs;

use crate::e2e::harness::Agent;
use crate::e2e::harness::{Mount, eventually};

use super::load;

#[test]
fn a_request_that_waits_for_its_window_is_logged_with_the_reason() {
    let lines = "[scheduler]\nservers = 2\nwindow = \"400ms\"\n[telemetry]\nslow = \"150ms\"\n";
    let Some(agent) = Agent::exporting(lines, "squash = \"none\"") else { return };
    let mount = Mount::remote(&agent, &agent.over_unix(), &[]);
    // A file on both servers: one of its halves has to wait for the other window, which may be near.
    let data = vec![7; 256 << 10];
    let line = || {
        let said = agent.said();
        said.lines().find(|line| line.contains("slow request")).map(str::to_owned)
    };
    eventually("a line about a slow request", || {
        fs::write(mount.path().join("striped.dat"), &data).unwrap();
        line().is_some()
    });
    let line = line().unwrap();
    for part in
        ["WARN", "file=striped.dat", "operation=\"write\"", "job=\"uid_0\"", "windows of server"]
    {
        assert!(line.contains(part), "no {part} in {line}");
    }
}

#[test]
fn a_log_for_programs_is_json_line_by_line_and_spares_what_repeats() {
    let options = ["--log-format=json", "--slow=1ns", "--servers=4", "--window=500us"];
    let Some(mount) = Mount::start(&options) else { return };
    load::run(mount.path());
    let text = mount.said();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let is = |line: &&serde_json::Value, message: &str| line["fields"]["message"] == message;
    let slow: Vec<_> = lines.iter().filter(|line| is(line, "slow request")).collect();
    // All 128 requests were slower than a nanosecond, in less than the time that lines are counted for.
    let periods = 1 + text.matches("left out").count();
    assert!(slow.len() >= 20 && slow.len() <= 20 * periods, "{} lines of {text}", slow.len());
    let fields = &slow[0]["fields"];
    assert_eq!((&fields["file"], &fields["bytes"]), (&load::name(0).into(), &load::SIZE.into()));
    assert!(fields["why"].as_str().unwrap().contains("server"), "{fields}");
    assert_eq!(slow[0]["level"], "WARN");
    assert!(lines.iter().any(|line| is(&line, "mounted")), "{text}");
}
