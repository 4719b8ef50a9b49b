//! The page in a real browser: it loads, it goes on asking, it says nothing in the console, and its
//! numbers are those of a known load.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Watched, load};

/// What a browser made of the page after some seconds, and what it said meanwhile.
fn browse(room: &Path, address: &str, more: &[&str]) -> Option<(String, String)> {
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let version = Command::new(name).arg("--version").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    });
    let Some(browser) = browser else {
        println!("skipped: there is no Chromium here (apt-get install chromium)");
        return None;
    };
    let mut command = Command::new("timeout");
    command.args(["120", browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
    command.args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--window-size=1280,1600"]);
    command.arg(format!("--user-data-dir={}", room.join("browser").display()));
    // Its seconds pass as fast as it is answered; ten minutes of them are some of ours.
    command.args(["--virtual-time-budget=600000"]).args(more);
    let output = command.arg(format!("http://{address}/")).output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Some((text(&output.stdout), text(&output.stderr)))
}

#[test]
fn a_browser_shows_what_a_known_load_did() {
    let Some(watched) = Watched::start(&["--servers=4", "--window=2ms"]) else { return };
    load::run(watched.mount.path());
    let room = tempfile::tempdir().unwrap();
    let Some((page, said)) = browse(room.path(), &watched.address, &["--dump-dom"]) else { return };
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(complaints, Vec::<&str>::new());
    assert!(page.contains("data-errors=\"0\""), "{page}");
    let updates = page.split("data-updates=\"").nth(1).and_then(|rest| rest.split('"').next());
    let updates: u32 = updates.and_then(|text| text.parse().ok()).unwrap_or(0);
    assert!(updates >= 3, "it asked {updates} times: {page}");
    assert!(page.contains("<section id=\"health\" role=\"status\" class=\"well\">"), "{page}");
    // 4 MiB read and written, a quarter at each server and in each file, in requests of 64 KiB, by one job.
    assert_eq!(page.matches("<td>1.00 MiB</td><td>1.00 MiB</td>").count(), 8, "{page}");
    assert!(
        page.contains("<td>uid_0</td><td>128</td><td>4.00 MiB</td><td>4.00 MiB</td>"),
        "{page}"
    );
    assert!(page.matches("class=\"trace ").count() >= 6, "charts are drawn: {page}");
    assert!(page.contains("<span>leaving clients</span>"), "{page}");
    assert!(page.contains("<b>64.0 KiB</b>"), "{page}");
    assert!(page.matches("class=\"own\"").count() >= 12, "windows are drawn");
    assert!(page.matches("class=\"batch\"").count() >= 1, "batches are drawn");
    if let Some(place) = std::env::var_os("IOFWD_SCREENSHOT") {
        let file = room.path().join("page.png");
        browse(room.path(), &watched.address, &[&format!("--screenshot={}", file.display())]);
        fs::copy(file, place).unwrap();
    }
}
