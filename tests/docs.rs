//! What is written about the program is what the program says: references that are made from its
//! tables, and the dashboard that uses its metrics.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::path::PathBuf;

use iofwd::telemetry::metric::{METRICS, reference};

fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

/// Compares a document with what it should be, or writes it if `IOFWD_WRITE_DOCS` is set.
fn compare(name: &str, expected: &str) {
    let path = document(name);
    if std::env::var_os("IOFWD_WRITE_DOCS").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == expected,
        "docs/{name} is not what the table says: run IOFWD_WRITE_DOCS=1 cargo test --test docs"
    );
}

#[test]
fn the_reference_of_metrics_is_made_from_their_table() {
    compare("metrics.md", &reference());
}

/// Words of a text that look like metrics.
fn mentioned(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c: char| !is_part(c));
    words.filter(|word| word.starts_with("iofwd_")).map(String::from).collect()
}

#[test]
fn every_metric_of_the_dashboard_is_published() {
    let text = fs::read_to_string(document("grafana.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 8, "a dashboard shows something");
    let mut used = Vec::new();
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            used.extend(mentioned(target["expr"].as_str().unwrap()));
        }
    }
    assert!(used.len() >= 10);
    for name in used {
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let is = |wanted: &str| METRICS.iter().any(|metric| metric.name == wanted);
        assert!(is(&name) || base.is_some_and(is), "{name} is not published");
    }
}
