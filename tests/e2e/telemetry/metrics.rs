//! The metrics address: true numbers, and nothing that can be done with it but reading them.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use crate::e2e::harness::Agent;

use super::http::{ask, connect, get};
use super::{Watched, free_address, load, sum};

#[test]
fn metrics_are_what_a_known_load_did() {
    let Some(watched) = Watched::start(&["--servers=4", "--window=500us"]) else { return };
    load::run(watched.mount.path());
    let metrics = watched.metrics();
    let total = |name: &str| sum(&metrics, name, "") as u64;
    assert_eq!(total("iofwd_server_writes_total"), load::EACH, "{metrics}");
    assert_eq!(total("iofwd_server_reads_total"), load::EACH);
    assert_eq!(total("iofwd_server_written_bytes_total"), load::BYTES);
    assert_eq!(total("iofwd_server_read_bytes_total"), load::BYTES);
    assert_eq!(total("iofwd_server_wait_seconds_count"), 2 * load::EACH);
    assert_eq!(total("iofwd_server_service_seconds_count"), 2 * load::EACH);
    assert_eq!(total("iofwd_server_issued_total"), 2 * load::EACH);
    assert_eq!(total("iofwd_server_queued"), 0);
    assert_eq!(total("iofwd_server_failed_total"), 0);
    assert_eq!(total("iofwd_problems"), 0);
    for server in 0..4 {
        let of = format!("server=\"{server}\"");
        let bytes = sum(&metrics, "iofwd_server_written_bytes_total", &of) as u64;
        assert_eq!(bytes, load::BYTES / 4, "stripes go round: {metrics}");
    }
    for level in ["leaving clients", "arriving at queues", "leaving agent", "arriving at servers"] {
        let bytes = sum(&metrics, "iofwd_level_bytes_total", level) as u64;
        assert_eq!(bytes, 2 * load::BYTES, "{level}: {metrics}");
    }
    assert_eq!(total("iofwd_job_written_bytes_total"), load::BYTES);
    assert!(metrics.contains("policy=\"twins\""), "{metrics}");
    assert!((sum(&metrics, "iofwd_window_seconds", "") - 0.0005).abs() < 1e-9);
}

#[test]
fn an_agent_publishes_its_clients_and_its_settings() {
    let address = free_address();
    let lines = format!("[telemetry]\nlisten = \"{address}\"\n");
    let Some(_agent) = Agent::exporting(&lines, "") else { return };
    let (status, metrics) = get(&address, "/metrics");
    assert_eq!(status, 200);
    assert!(metrics.contains("\niofwd_clients 0\n"), "{metrics}");
    assert_eq!(get(&address, "/health"), (200, "well\n".to_owned()));
    let (_, json) = get(&address, "/snapshot.json");
    let seen: serde_json::Value = serde_json::from_str(&json).unwrap();
    let settings = seen["snapshot"]["settings"].as_array().unwrap();
    let named = |name: &str| settings.iter().any(|setting| setting["name"] == name);
    assert!(named("scheduler.policy") && named("telemetry.listen"), "{json}");
    assert!(!json.contains("key_file"), "places of secrets are nobody's business");
}

#[test]
fn no_file_can_be_read_and_nothing_changed_through_it() {
    let Some(watched) = Watched::start(&[]) else { return };
    fs::write(watched.mount.path().join("secret"), "the treasure is buried").unwrap();
    for path in ["/secret", "/../secret", "//secret", "/%2e%2e/secret", "/.iofwd/status", "*"] {
        let (status, text) = get(&watched.address, path);
        assert!(matches!(status, 404 | 400), "{path}: {status}");
        assert!(!text.contains("treasure"), "{path}: {text}");
    }
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let head = "Host: x\r\nConnection: close\r\nContent-Length: 0";
        let (status, _) =
            ask(&watched.address, &format!("{method} /metrics HTTP/1.1\r\n{head}\r\n\r\n"));
        assert_eq!(status, 405, "{method}");
    }
    let (_, json) = get(&watched.address, "/snapshot.json");
    assert!(!json.contains("secret"), "names of files are not for everybody: {json}");
}

#[test]
fn whoever_holds_connections_open_or_sends_rubbish_stalls_nobody_else() {
    let Some(watched) = Watched::start(&[]) else { return };
    let held: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = connect(&watched.address);
            let _ = stream.write_all(b"GET /metr");
            stream
        })
        .collect();
    let (status, _) = ask(&watched.address, &format!("GET /{} HTTP/1.1\r\n", "x".repeat(100_000)));
    assert!(status == 0 || (400..500).contains(&status), "{status}");
    // The mount serves as if nobody was there.
    let begun = Instant::now();
    load::run(watched.mount.path());
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    drop(held);
    assert_eq!(get(&watched.address, "/health").0, 200);
}
