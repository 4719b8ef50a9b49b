//! `iofwd top` in a real terminal of 80 by 24 letters, and what it shows of a known load.

use std::process::{Command, Output};

use crate::e2e::harness::{Mount, eventually, program};

use super::load;

/// A terminal of a size of old, with a program in it, gone with the test.
struct Terminal {
    server: String,
}

impl Terminal {
    fn start(line: &str) -> Option<Self> {
        let terminal = Self { server: format!("iofwd-test-{}", std::process::id()) };
        let size = ["-x", "80", "-y", "24"];
        let mut command = Command::new("tmux");
        command.args(["-L", &terminal.server, "-f", "/dev/null", "new-session", "-d"]);
        match command.args(size).arg(line).output() {
            Ok(output) if output.status.success() => Some(terminal),
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(_) => {
                println!("skipped: there is no program tmux here");
                None
            }
        }
    }

    fn tell(&self, words: &[&str]) -> Output {
        Command::new("tmux").args(["-L", &self.server]).args(words).output().unwrap()
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.tell(&["capture-pane", "-p"]).stdout).into_owned()
    }

    fn press(&self, key: &str) {
        self.tell(&["send-keys", key]);
    }

    /// Waits until all of these are on the screen.
    fn shows(&self, texts: &[&str]) -> String {
        let mut shown = String::new();
        eventually(&format!("{texts:?} on the screen"), || {
            shown = self.shown();
            texts.iter().all(|text| shown.contains(text))
        });
        shown
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the terminal shows:\n{}", self.shown());
        }
        self.tell(&["kill-server"]);
    }
}

#[test]
fn a_terminal_shows_servers_jobs_and_files_of_a_known_load() {
    let Some(mount) = Mount::start(&["--servers=4", "--window=2ms"]) else { return };
    let line = format!("{} top --every 200ms {}", program().display(), mount.path().display());
    let Some(terminal) = Terminal::start(&line) else { return };
    terminal.shows(&["well", "policy twins", "windows of 2.00 ms, 4 in a round", "last minute"]);
    load::run(mount.path());
    let each = format!("{}.0 KiB", load::SIZE >> 10);
    terminal.shows(&[&format!("{each} → {each} → ")]);
    terminal.press("Tab");
    terminal.shows(&["uid_0", "4.00 MiB", "128"]);
    terminal.press("Tab");
    let files: Vec<String> = (0..load::FILES).map(load::name).collect();
    terminal.shows(&[&files[0], &files[1], &files[2], &files[3], "1.00 MiB"]);
    // A filter hides the others, Escape shows them again.
    "/known-2".chars().for_each(|letter| terminal.press(&letter.to_string()));
    terminal.press("Enter");
    let shown = terminal.shows(&["filter: known-2", &files[2]]);
    assert!(!shown.contains(&files[1]), "{shown}");
    terminal.press("Escape");
    terminal.shows(&[&files[1]]);
    terminal.press("q");
    eventually("top leaves", || !terminal.tell(&["has-session"]).status.success());
}

#[test]
fn one_frame_can_be_printed_and_what_is_no_terminal_is_refused() {
    let Some(mount) = Mount::start(&["--servers=2"]) else { return };
    load::run(mount.path());
    let top = |words: &[&str]| {
        let mut command = Command::new(program());
        command.arg("top").args(words).arg(mount.path()).output().unwrap()
    };
    let output = top(&["--once", "--every", "100ms"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("2 in a round") && text.contains("request sizes"), "{text}");
    let output = top(&[]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && complaint.contains("iofwd top --once"), "{complaint}");
}
