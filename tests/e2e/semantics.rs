//! SEMANTICS.md, paragraph by paragraph: the names of these tests stand there.

mod clients;
mod identity;
mod locks;
mod unmounting;
mod writing;

use std::process::{Command, Output};

/// Runs the program itself.
fn iofwd(arguments: &[&std::ffi::OsStr]) -> Output {
    Command::new(crate::e2e::harness::program()).args(arguments).output().expect("it was built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The document names only tests that exist, and every test below this file is named in it.
#[test]
fn the_document_and_the_tests_agree() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("it is in the tree");
    let document = read("SEMANTICS.md");
    let read_all = |names: &[&str]| -> String {
        names.iter().map(|name| read(&format!("tests/e2e/{name}.rs"))).collect()
    };
    let here = ["clients", "identity", "locks", "unmounting", "writing"]
        .map(|name| format!("semantics/{name}"));
    let here = read_all(&here.each_ref().map(String::as_str));
    let elsewhere = ["coherence", "coherence/appending", "coherence/dying", "network"];
    let elsewhere = read_all(&elsewhere);
    let tests = names(&here);
    assert!(tests.len() > 10, "the tests were found");
    for test in &tests {
        assert!(document.contains(&format!("[{test}]")), "SEMANTICS.md does not name {test}");
    }
    for named in document.split("`[").skip(1).filter_map(|rest| rest.split_once("]`")) {
        let is_test = tests.contains(&named.0) || names(&elsewhere).contains(&named.0);
        assert!(is_test, "SEMANTICS.md names {}, which is no test", named.0);
    }
}

/// The names of the tests in a source.
fn names(source: &str) -> Vec<&str> {
    let tests = source.split("#[test]\nfn ").skip(1);
    tests.filter_map(|rest| rest.split_once('(').map(|(name, _)| name)).collect()
}
