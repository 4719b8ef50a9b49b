//! `iofwd sim` as users run it: the built program, its files, its refusals.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A small sweep of the thesis's preset: three schedulers, two windows, two sizes.
const SWEEP: [&str; 11] = [
    "sim",
    "--preset=thesis",
    "--policy=unforwarded,fifo,twins",
    "--window=1ms,8ms",
    "--request=32K,256K",
    "--volume=512K",
    "--agents=4",
    "--pattern=strided",
    "--operation=read",
    "--repeat=2",
    "--seed=7",
];

fn iofwd(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iofwd"))
        .args(arguments)
        .output()
        .expect("the program can be run")
}

fn said(arguments: &[&str]) -> String {
    let output = iofwd(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    String::from_utf8(output.stdout).expect("reports are text")
}

fn refused(arguments: &[&str]) -> String {
    let output = iofwd(arguments);
    assert!(!output.status.success(), "{arguments:?} was accepted");
    String::from_utf8(output.stderr).expect("complaints are text")
}

fn file(room: &TempDir, text: &str) -> String {
    let path = room.path().join("scenario.toml");
    fs::write(&path, text).expect("the room can be written to");
    path.to_str().expect("its name is text").into()
}

const SCENARIO: &str = r#"
[platform]
servers = 2
device = "ssd"

[forwarding]
policy = "twins"
agents = 2

[[job]]
processes = 8
pattern = "strided"
operation = "read"
request = "32K"
volume = "256K"
"#;

#[test]
fn the_same_seed_gives_the_same_report_byte_for_byte() {
    for format in ["table", "json", "csv"] {
        let arguments = [&SWEEP[..], &["--format", format]].concat();
        assert_eq!(said(&arguments), said(&arguments), "{format}");
    }
    let other = said(&[&SWEEP[..10], &["--seed=8", "--format=json"]].concat());
    assert_ne!(said(&[&SWEEP[..], &["--format=json"]].concat()), other, "another seed");
}

#[test]
fn json_and_csv_have_every_case_and_agree() {
    let json: Value =
        serde_json::from_str(&said(&[&SWEEP[..], &["--format=json"]].concat())).unwrap();
    let cases = json["cases"].as_array().unwrap();
    // Without agents once, FIFO once, TWINS with two windows; for two request sizes.
    assert_eq!(cases.len(), 8);
    assert_eq!(json["seed"], 7);
    let csv = said(&[&SWEEP[..], &["--format=csv"]].concat());
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let column = |name: &str| head.iter().position(|one| *one == name).unwrap();
    for (case, row) in cases.iter().zip(rows) {
        assert_eq!(row.len(), head.len());
        assert_eq!(row[column("policy")], case["policy"]);
        let makespan: f64 = row[column("makespan_s")].parse().unwrap();
        assert!((makespan - case["makespan_s"].as_f64().unwrap()).abs() < 1e-9);
        assert_eq!(case["makespans_ns"].as_array().unwrap().len(), 2);
        assert!(makespan > 0.0 && case["makespan_margin_s"].as_f64().unwrap() >= 0.0);
        let requests = 128 * 512 * 1024 * 2 / case["request_bytes"].as_u64().unwrap();
        assert_eq!(case["requests"], requests);
    }
    let time = |policy: &str, window: Value| {
        let same = |case: &&Value| case["policy"] == policy && case["window_ns"] == window;
        cases.iter().find(same).unwrap()["makespan_s"].as_f64().unwrap()
    };
    assert!(time("twins", 1_000_000.into()) < time("fifo", Value::Null));
    assert!(time("fifo", Value::Null) < time("unforwarded", Value::Null));
}

#[test]
fn a_scenario_file_is_run_and_flags_change_it() {
    let room = tempfile::tempdir().unwrap();
    let path = file(&room, SCENARIO);
    let table = said(&["sim", &path]);
    assert!(table.contains("strided read 32K: 8 processes, 2 servers"), "{table}");
    assert!(table.contains("\ntwins "), "{table}");
    let changed = said(&["sim", &path, "--policy=fifo,wfq", "--agents=1,2", "--format=csv"]);
    assert_eq!(changed.lines().count(), 1 + 4, "{changed}");
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_line_and_field() {
    let room = tempfile::tempdir().unwrap();
    for (right, wrong, expected) in [
        ("servers = 2", "servers = \"two\"", "scenario.toml:3: platform.servers: invalid type"),
        (
            "device",
            "devise",
            "scenario.toml:4: platform.devise: unknown field `devise`, expected one of",
        ),
        (
            "\"ssd\"",
            "\"drum\"",
            "scenario.toml:4: platform.device: no device \"drum\": write \"hdd\"",
        ),
        ("\"strided\"", "\"spiral\"", "scenario.toml:12: job.pattern: no pattern \"spiral\""),
        (
            "\"32K\"",
            "\"3K\"",
            "scenario.toml: job 0: the volume is not a multiple of the request size",
        ),
        ("\"twins\"", "\"twin\"", "no scheduler 'twin' in iofwd: write unforwarded, none, fifo"),
        ("[[job]]", "[job]", "scenario.toml:10: [job]: invalid type: map"),
    ] {
        let refusal = refused(&["sim", &file(&room, &SCENARIO.replacen(right, wrong, 1))]);
        assert!(refusal.contains(expected), "{wrong}: {refusal}");
    }
    assert!(
        refused(&["sim", "/nowhere/at/all.toml"]).contains("/nowhere/at/all.toml: No such file")
    );
}

#[test]
fn wrong_flags_are_refused_with_what_may_stand_there() {
    for (flag, expected) in
        [("--preset=moon", "no preset 'moon': write thesis"), ("--reproduce=moon", "thesis")]
    {
        let refusal = refused(&["sim", flag]);
        assert!(refusal.contains(expected), "{flag}: {refusal}");
    }
    for (flag, expected) in [
        ("--pattern=spiral", "no pattern 'spiral': write file-per-process, contiguous"),
        ("--operation=append", "no operation 'append': write read, write"),
        ("--window=1", "'1' is no time"),
        ("--request=0", "'0' is no size"),
        ("--agents=0", "0 is not in 1..="),
        ("--policy=best", "no scheduler 'best' in iofsl: write unforwarded, fifo, hbrr, to"),
        ("--request=33K", "not a multiple of the request size"),
    ] {
        let refusal = refused(&["sim", "--preset=thesis", flag]);
        assert!(refusal.contains(expected), "{flag}: {refusal}");
    }
    assert!(refused(&["sim"]).contains("nothing to simulate: name a scenario file"));
}

#[test]
fn the_picture_shows_every_agent_and_server() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("windows.svg");
    let gantt = format!("--gantt={}", path.display());
    let policy = ["--policy=twins", "--window=8ms", "--volume=512K", &gantt, "--gantt-from=50ms"];
    said(&[&["sim", "--preset=thesis"], &policy[..]].concat());
    let svg = fs::read_to_string(path).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for text in ["agent 0", "agent 3", "server 0", "server 3", "time (ms)", "windows of 8ms"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.matches("<title>server ").count() > 20, "a bar for each message");
}

#[test]
fn the_thesis_is_reproduced_as_a_report_that_needs_nothing_else() {
    let room = tempfile::tempdir().unwrap();
    let output = room.path().join("report");
    let words =
        said(&["sim", "--reproduce=thesis", "--quick", "--output", output.to_str().unwrap()]);
    assert!(words.lines().filter(|line| line.starts_with("met  ")).count() >= 12, "{words}");
    let html = fs::read_to_string(output.join("report.html")).unwrap();
    for reference in ["src=", "@import", "url(", "<link", "<script", "https://"] {
        assert!(!html.contains(reference), "{reference} in the page");
    }
    assert_eq!(html.matches("http://").count(), html.matches("http://www.w3.org/2000/svg").count());
    let markdown = fs::read_to_string(output.join("report.md")).unwrap();
    let published = [
        "Table 3.2",
        "Figure 3.4",
        "Figure 3.5",
        "Figure 3.6",
        "Figure 3.7",
        "Figure 4.1",
        "Figure 4.2",
        "Figure 4.3",
        "Figure 4.4",
        "Figure 5.1",
        "Figure 5.2",
        "Figure 5.3",
        "Figure 5.4",
        "Figure 5.6",
        "Figure 5.7",
        "Figure 5.8",
        "Figure 5.9",
        "Figure 5.10",
        "Figure 5.11",
        "Tables 3.1, 3.3, 4.1 and 5.1",
    ];
    for title in published {
        assert!(html.contains(&format!(">{title}:")), "{title} in the page");
        assert!(markdown.contains(&format!("## {title}:")), "{title} in Markdown");
    }
    check_charts(&output, &markdown);
}

/// Every chart that Markdown names is there, as SVG and as PNG.
fn check_charts(output: &Path, markdown: &str) {
    let charts: Vec<&str> = markdown
        .lines()
        .filter_map(|line| line.strip_prefix("![")?.split_once("](")?.1.strip_suffix(".svg)"))
        .collect();
    assert!(charts.len() >= 30, "{charts:?}");
    for chart in charts {
        assert!(
            fs::read_to_string(output.join(format!("{chart}.svg")))
                .expect("its SVG is there")
                .starts_with("<svg")
        );
        let png = fs::read(output.join(format!("{chart}.png"))).expect("its PNG is there");
        assert!(png.starts_with(b"\x89PNG\r\n") && png.len() > 2000, "{chart}");
    }
}
