//! A directory tree with everything in it, and how to tell whether two are the same.

mod make;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::site::Site;
use crate::step::Step;

pub(crate) use make::make;

/// Which entries count.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kinds {
    All,
    WithoutSockets,
}

/// All that is known about an entry, by name, as text to be compared and shown.
type Facts = BTreeMap<&'static str, String>;

/// A tree: the facts about each path in it.
pub(crate) type Tree = BTreeMap<OsString, Facts>;

/// Reads a tree, contents and attributes included.
pub(crate) fn read(site: &Site, root: &Path, kinds: Kinds) -> Result<Tree, String> {
    let mut tree = Tree::new();
    let mut first_names = HashMap::new();
    for path in paths(root)? {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let metadata = fs::symlink_metadata(&path).map_err(failed)?;
        if kinds == Kinds::WithoutSockets && metadata.file_type().is_socket() {
            continue;
        }
        let name = path.strip_prefix(root).expect("it was found below the root").as_os_str();
        let mut facts = facts(&path, &metadata).map_err(failed)?;
        if !metadata.is_dir() {
            let first = first_names.entry(metadata.ino()).or_insert_with(|| name.to_owned());
            facts.insert("is the same file as", first.display().to_string());
        }
        tree.insert(name.to_owned(), facts);
    }
    for (name, attributes) in extended(site, root)? {
        // A name with odd bytes comes escaped; it then has an entry of its own, in both trees.
        tree.entry(name).or_default().insert("extended attributes", attributes);
    }
    Ok(tree)
}

/// What is different, one line each.
pub(crate) fn differences(original: &Tree, copy: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (name, facts) in original {
        match copy.get(name) {
            None => found.push(format!("{name:?} is missing")),
            Some(other) => {
                found.extend(unequal(facts, other).map(|what| format!("{name:?}: {what}")));
            }
        }
    }
    let new = copy.keys().filter(|name| !original.contains_key(*name));
    found.extend(new.map(|name| format!("{name:?} is new")));
    found
}

fn unequal<'a>(original: &'a Facts, copy: &'a Facts) -> impl Iterator<Item = String> + 'a {
    let mut names: Vec<_> = original.keys().chain(copy.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(move |name| {
        let none = String::from("none");
        let (was, is) = (original.get(name).unwrap_or(&none), copy.get(name).unwrap_or(&none));
        (was != is).then(|| format!("{name} was {was}, is {is}"))
    })
}

/// Everything below a directory, and itself, in the order of names.
fn paths(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = vec![root.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        if fs::symlink_metadata(&path).map_err(failed)?.is_dir() {
            for entry in fs::read_dir(&path).map_err(failed)? {
                found.push(entry.map_err(failed)?.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn facts(path: &Path, metadata: &Metadata) -> std::io::Result<Facts> {
    let mut facts = Facts::from([
        ("type and mode", format!("{:o}", metadata.mode())),
        ("owner", format!("{}:{}", metadata.uid(), metadata.gid())),
        ("links", metadata.nlink().to_string()),
        ("time", format!("{}.{:09}", metadata.mtime(), metadata.mtime_nsec())),
    ]);
    let kind = metadata.file_type();
    if kind.is_file() {
        let contents = fs::read(path)?;
        facts.insert("size", metadata.size().to_string());
        facts.insert("contents", format!("{:016x}", checksum(&contents)));
        // Of the same file, copies need not have the same extents, but holes must stay holes.
        facts.insert("sparse", (metadata.blocks() * 512 < metadata.size() / 2).to_string());
    } else if kind.is_symlink() {
        facts.insert("target", format!("{:?}", fs::read_link(path)?));
    } else if kind.is_char_device() || kind.is_block_device() {
        facts.insert("device", format!("{:x}", metadata.rdev()));
    }
    Ok(facts)
}

/// FNV-1a: enough to tell files apart that nobody made to collide.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The extended attributes below a directory, access control lists among them.
fn extended(site: &Site, root: &Path) -> Result<Vec<(OsString, String)>, String> {
    let show = ["--recursive", "--physical", "--no-dereference", "--dump", "--match=-"];
    let step = Step::new("getfattr").args(show).args(["--encoding=hex", "."]).dir(root).quiet();
    Ok(step.run(site)?.split("\n\n").filter_map(attributes_of_one).collect())
}

/// One paragraph of what `getfattr` prints: the path, then a line for each attribute.
fn attributes_of_one(paragraph: &str) -> Option<(OsString, String)> {
    let (first, attributes) = paragraph.trim().split_once('\n')?;
    let mut attributes: Vec<_> = attributes.lines().collect();
    attributes.sort_unstable();
    let path = first.strip_prefix("# file: ")?;
    let path = path.strip_prefix("./").unwrap_or(path.strip_prefix('.').unwrap_or(path));
    Some((path.into(), attributes.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(mode: &str) -> Facts {
        Facts::from([("type and mode", mode.to_owned())])
    }

    #[test]
    fn a_difference_is_named_with_both_values() {
        let original = Tree::from([("a".into(), facts("644")), ("b".into(), facts("600"))]);
        let copy = Tree::from([("a".into(), facts("600")), ("c".into(), facts("600"))]);
        let found = differences(&original, &copy);
        assert_eq!(
            found,
            ["\"a\": type and mode was 644, is 600", "\"b\" is missing", "\"c\" is new"]
        );
        assert!(differences(&original, &original).is_empty());
    }

    #[test]
    fn a_lost_attribute_is_a_difference() {
        let mut with = facts("644");
        with.insert("extended attributes", "user.x=0x00".into());
        let found: Vec<_> = unequal(&with, &facts("644")).collect();
        assert_eq!(found, ["extended attributes was user.x=0x00, is none"]);
    }

    #[test]
    fn attributes_are_sorted_under_their_path() {
        let paragraph = "# file: ./a/b\nuser.z=0x01\nuser.a=0x02\n";
        let expected = Some(("a/b".into(), "user.a=0x02 user.z=0x01".into()));
        assert_eq!(attributes_of_one(paragraph), expected);
        assert_eq!(
            attributes_of_one("# file: .\nuser.a=0x02"),
            Some(("".into(), "user.a=0x02".into()))
        );
    }
}
