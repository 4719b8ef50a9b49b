//! The crate decides and never acts: no dependency, no clock, thread, lock, file, socket, environment.
//!
//! Clippy refuses calls; this test refuses the words, in the sources as they are.

use std::path::{Path, PathBuf};

const BANNED: &[&str] = &[
    "std::time",
    "std::thread",
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::process",
    "std::sync",
    "std::os",
    "std::{",
    "core::arch",
    "std::arch",
    "Instant",
    "SystemTime",
    "UNIX_EPOCH",
    "extern ",
    "unsafe",
    "include!",
    "HashMap",
    "HashSet",
    "RandomState",
    "thread_local!",
    "static mut",
    "println!",
    "eprintln!",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The sources, each with its lines but for comments.
fn lines() -> Vec<(PathBuf, Vec<String>)> {
    let mut paths = Vec::new();
    sources(&root().join("src"), &mut paths);
    assert!(paths.len() > 20, "the sources are found");
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a source can be read");
        let code = text.lines().map(|line| line.split("//").next().unwrap_or("").to_owned());
        let code = code.collect();
        (path, code)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn there_are_no_dependencies() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let names = manifest.lines().map(|line| line.split(['#', '=']).next().unwrap_or("").trim());
    for line in names.filter(|line| line.contains("dependencies")) {
        assert_eq!(line, "[dev-dependencies]", "this crate has no dependencies");
    }
    assert!(!root().join("build.rs").exists(), "what runs at build time could read a clock");
}

/// Where the processor is asked for memory ahead of time, and all that may be said to it there.
const HINT: &str = "src/queue/ahead.rs";
const DENIED: &str = "#![deny(unsafe_code)]";
const HINTED: &[&str] = &[
    "#[allow(unsafe_code)]",
    "    unsafe {",
    "        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};",
    "        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());",
];

/// Unsafe code could ask the processor for the time; clippy refuses what the standard library has.
#[test]
fn the_compiler_and_clippy_refuse_clocks() {
    let library = std::fs::read_to_string(root().join("src/lib.rs")).expect("a library");
    assert!(library.contains("#![deny(unsafe_code)]"));
    let bans = std::fs::read_to_string(root().join("clippy.toml")).expect("settings of clippy");
    for name in [
        "std::time::Instant::now",
        "std::time::SystemTime::now",
        "std::time::Instant\"",
        "std::time::SystemTime\"",
        "std::thread::spawn",
        "std::thread::sleep",
        "std::collections::HashMap",
    ] {
        assert!(bans.contains(&format!("path = \"{name}")), "clippy.toml does not name {name}");
    }
}

#[test]
fn no_source_names_what_acts() {
    for (path, lines) in lines() {
        let hints = path.ends_with(HINT);
        for (number, line) in (1..).zip(&lines) {
            if line == DENIED || hints && HINTED.contains(&line.as_str()) {
                continue;
            }
            for word in BANNED {
                let named = line.contains(word);
                assert!(!named, "{}:{number}: {word} has no place here", path.display());
            }
        }
    }
}

#[test]
fn no_policy_uses_floats() {
    let decides = |path: &Path| {
        let path = path.to_string_lossy().into_owned();
        ["/policy", "/queue", "/hazard", "/scheduler.rs", "/room.rs", "/batch.rs", "/stats"]
            .iter()
            .any(|part| path.contains(&format!("src{part}")))
    };
    for (path, lines) in lines().into_iter().filter(|(path, _)| decides(path)) {
        for (number, line) in (1..).zip(&lines) {
            let float = line.contains("f32") || line.contains("f64");
            assert!(!float, "{}:{number}: decisions are made with integers", path.display());
        }
    }
}
