//! `iofwd agent --check`, `--example` and `iofwd key new` as users run them: the built program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Run the program in an environment without our variables but these.
fn iofwd(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iofwd"));
    command.args(arguments).env_clear().envs(variables.iter().copied());
    command.output().expect("the program runs")
}

fn succeeds(arguments: &[&str]) -> String {
    let output = iofwd(arguments, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn fails(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = iofwd(arguments, variables);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("text")
}

/// A settings file that listens on every address, with these fields of its own above.
fn settings(room: &TempDir, lines: &str) -> String {
    let path = room.path().join("agent.toml");
    let text = format!(
        "listen = [\"0.0.0.0:7040\"]\n{lines}\n[[export]]\nname = \"a\"\npath = \"{}\"\n",
        room.path().display()
    );
    fs::write(&path, text).expect("a file");
    path.display().to_string()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn a_new_key_makes_an_open_agent_good() {
    let room = tempfile::tempdir().expect("a directory");
    let file = settings(&room, "");
    let refusal = fails(&["agent", "--config", &file, "--check"], &[]);
    assert!(refusal.starts_with(&format!("iofwd: {file}:1: listen: 0.0.0.0:7040 can be")));
    assert!(refusal.contains("iofwd key new FILE"), "{refusal}");

    let key = room.path().join("agent.key");
    let said = succeeds(&["key", "new", text(&key)]);
    assert!(said.starts_with(text(&key)), "{said}");
    assert_eq!(fs::metadata(&key).expect("the key").permissions().mode() & 0o7777, 0o600);
    let file = settings(&room, &format!("key_file = \"{}\"", key.display()));
    let meant = succeeds(&["agent", "--config", &file, "--check"]);
    assert!(meant.starts_with(&format!("{file}: good; this is what it means\n\n  listen")));
    assert!(meant.contains(&format!("key_file            {}  (line 2)", key.display())));

    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("a mode");
    let refusal = fails(&["agent", "--config", &file, "--check"], &[]);
    assert!(refusal.contains(&format!("chmod 600 {}", key.display())), "{refusal}");
}

#[test]
fn a_key_is_not_replaced() {
    let room = tempfile::tempdir().expect("a directory");
    let key = room.path().join("agent.key");
    succeeds(&["key", "new", text(&key)]);
    let before = fs::read(&key).expect("the key");
    let refusal = fails(&["key", "new", text(&key)], &[]);
    assert!(refusal.contains("exists already"), "{refusal}");
    assert_eq!(fs::read(&key).expect("the key"), before);
    let refusal = fails(&["key", "new", "/no/such/place/key"], &[]);
    assert!(refusal.contains("cannot make the key file /no/such/place/key: No such"), "{refusal}");
}

#[test]
fn the_example_is_good_where_its_directory_is() {
    let room = tempfile::tempdir().expect("a directory");
    let example = succeeds(&["agent", "--example"]);
    let path = room.path().join("agent.toml");
    fs::write(&path, example.replace("/srv/scratch", text(room.path()))).expect("a file");
    let meant = succeeds(&["agent", "--config", text(&path), "--check"]);
    assert!(meant.contains("twins: time windows, one server each"), "{meant}");
}

#[test]
fn places_that_are_not_there_and_variables_are_told() {
    let room = tempfile::tempdir().expect("a directory");
    let file = settings(&room, "key_file = \"/no/such/key\"");
    let check = ["agent", "--config", &file, "--check"];
    let refusal = fails(&check, &[]);
    assert!(refusal.contains(&format!("{file}:2: key_file: /no/such/key: No such")), "{refusal}");
    let refusal = fails(&check, &[("IOFWD_POLICY", "twin")]);
    assert!(refusal.contains("no policy 'twin': did you mean twins?"), "{refusal}");
    assert!(refusal.contains("(it comes from IOFWD_POLICY)"), "{refusal}");
}

#[test]
fn an_agent_needs_settings() {
    let refusal = fails(&["agent"], &[]);
    assert!(refusal.contains("--config <FILE>"), "{refusal}");
}
