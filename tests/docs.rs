//! What is written about the program is what the program says: references that are made from its
//! tables, the dashboard that uses its metrics, help, man pages and completions of every command.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

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

/// Every command with the words that call it, from the tree of what can be typed.
fn commands(command: &clap::Command, words: &[String]) -> Vec<(Vec<String>, clap::Command)> {
    let mut found = vec![(words.to_vec(), command.clone())];
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let words = [words, &[below.get_name().to_owned()]].concat();
        found.extend(commands(below, &words));
    }
    found
}

fn all_commands() -> Vec<(Vec<String>, clap::Command)> {
    commands(&iofwd::cli::command(), &[])
}

fn said(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_iofwd")).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_has_help_with_an_example_that_can_be_typed() {
    for (words, command) in all_commands().into_iter().skip(1) {
        let typed: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = said(&typed);
        let call = format!("iofwd {}", words.join(" "));
        assert!(command.get_about().is_some(), "{call} does not say what it does");
        let (_, example) = help.split_once("\nExample").unwrap_or_else(|| panic!("{call}: {help}"));
        // What belongs to an agent has its address between the words.
        let shown = example.contains(&call) || words[0] == "ctl" && example.contains("iofwd ctl ");
        assert!(shown, "{call}: no example of itself in {example}");
        for argument in command.get_arguments().filter(|one| !one.is_hide_set()) {
            assert!(argument.get_help().is_some(), "{call}: {} has no help", argument.get_id());
        }
    }
}

#[test]
fn every_command_has_a_man_page_with_all_its_options() {
    let room = tempfile::tempdir().unwrap();
    said(&["generate", "man", room.path().to_str().unwrap()]);
    for (words, command) in all_commands() {
        let name = [&["iofwd".to_owned()], &words[..]].concat().join("-");
        let page = fs::read_to_string(room.path().join(format!("{name}.1")));
        let page = page.unwrap_or_else(|error| panic!("{name}.1: {error}"));
        for long in command.get_arguments().filter_map(clap::Arg::get_long) {
            let escaped = format!("\\-\\-{}", long.replace('-', "\\-"));
            assert!(page.contains(&escaped), "{name}.1 has no --{long}");
        }
    }
}

#[test]
fn every_shell_completes_every_command_and_option() {
    for (shell, dash) in [("bash", "--"), ("zsh", "--"), ("fish", "-l ")] {
        let script = said(&["generate", "completion", shell]);
        for (words, command) in all_commands() {
            for word in &words {
                assert!(script.contains(word.as_str()), "{shell} does not complete {word}");
            }
            for long in command.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(script.contains(&format!("{dash}{long}")), "{shell}: {words:?} --{long}");
            }
        }
    }
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
