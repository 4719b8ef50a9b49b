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

/// The document names only tests that exist, and every test of this folder is named in it.
#[test]
fn the_document_and_the_tests_agree() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(root.join("SEMANTICS.md")).expect("it is in the tree");
    let here = tests_below(&root.join("tests/e2e/semantics"));
    let everywhere = tests_below(&root.join("tests/e2e"));
    assert!(here.len() > 10 && everywhere.len() > here.len(), "the tests were found");
    for test in &here {
        assert!(document.contains(&format!("[{test}]")), "SEMANTICS.md does not name {test}");
    }
    for (named, _) in document.split("`[").skip(1).filter_map(|rest| rest.split_once("]`")) {
        let exists = everywhere.iter().any(|test| test == named);
        assert!(exists, "SEMANTICS.md names {named}, which is no test");
    }
}

/// The names of all tests in the sources below a folder.
fn tests_below(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("it is in the tree") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(tests_below(&path));
        } else if let Ok(source) = std::fs::read_to_string(&path) {
            let tests = source.split("#[test]\nfn ").skip(1);
            found.extend(tests.filter_map(|rest| Some(rest.split_once('(')?.0.to_owned())));
        }
    }
    found
}
