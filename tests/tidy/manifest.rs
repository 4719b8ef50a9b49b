//! Crates that must stand alone have no dependencies in their manifests.

use std::fs;

use super::source::root;

/// What is listed where nothing may be.
pub(crate) fn violations() -> Vec<String> {
    let mut found = Vec::new();
    for (path, instead) in ALONE {
        let text = fs::read_to_string(root().join(path)).expect("the crate has a manifest");
        let listed = dependencies(&text);
        found.extend(listed.map(|(line, name)| format!("{path}:{line}: `{name}`: {instead}")));
    }
    found
}

/// The entries of all dependency sections but those for tests, with their lines.
fn dependencies(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    (1..).zip(manifest.lines().map(str::trim)).filter(move |(_, line)| {
        if line.starts_with('[') {
            inside = line.contains("dependencies") && !line.contains("dev-dependencies");
            return inside && line.contains("dependencies.");
        }
        inside && !line.is_empty() && !line.starts_with('#')
    })
}

const ALONE: &[(&str, &str)] = &[
    ("scheduler/Cargo.toml", "the scheduler depends on nothing; write it, or pass it in"),
    ("ci/Cargo.toml", "ci is std and the tools of the system"),
];

#[cfg(test)]
mod planted {
    use super::*;

    #[test]
    fn a_dependency_is_found_in_any_section_but_that_of_tests() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\n# none\nlibc = \"1\"\n\n\
                        [dev-dependencies]\nproptest = \"1\"\n[build-dependencies.cc]\n";
        let found: Vec<_> = dependencies(manifest).collect();
        assert_eq!(found, [(5, "libc = \"1\""), (9, "[build-dependencies.cc]")]);
    }
}
