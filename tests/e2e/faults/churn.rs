//! Names that are made, renamed and removed: each call must do what it would without faults, and the
//! directory is what the model says.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;

use super::dice::Dice;
use super::worker::Task;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    File(u64),
    Directory,
    Link,
}

struct Churn {
    place: PathBuf,
    model: BTreeMap<String, Kind>,
    dice: Dice,
    next: u64,
}

pub(super) fn work(task: Task) {
    let place = task.place.join(format!("churn-{}", task.number));
    fs::create_dir(&place).expect("a directory of its own");
    let dice = Dice::new(task.dice_seed());
    let mut churn = Churn { place, model: BTreeMap::new(), dice, next: 0 };
    while task.goes_on(churn.next) {
        churn.step();
        if churn.next.is_multiple_of(32) {
            churn.check();
        }
    }
    churn.check();
}

impl Task {
    fn dice_seed(&self) -> u64 {
        self.number as u64 * 7919 + 1
    }
}

impl Churn {
    fn step(&mut self) {
        self.next += 1;
        let fresh = format!("n{}", self.next);
        match self.dice.below(9) {
            0 | 1 => self.create(&fresh),
            2 => {
                fs::create_dir(self.path(&fresh)).unwrap_or_else(|e| panic!("mkdir {fresh}: {e}"));
                self.model.insert(fresh, Kind::Directory);
            }
            3 => {
                let target = std::os::unix::fs::symlink("nowhere", self.path(&fresh));
                target.unwrap_or_else(|e| panic!("symlink {fresh}: {e}"));
                self.model.insert(fresh, Kind::Link);
            }
            4 => self.link(fresh),
            5 | 6 => self.rename(fresh),
            _ => self.remove(),
        }
    }

    fn create(&mut self, name: &str) {
        let file = File::create_new(self.path(name));
        let file = file.unwrap_or_else(|e| panic!("create {name}: {e}"));
        std::os::unix::fs::FileExt::write_all_at(&file, name.as_bytes(), 0)
            .unwrap_or_else(|e| panic!("write {name}: {e}"));
        self.model.insert(name.into(), Kind::File(self.next));
    }

    fn link(&mut self, fresh: String) {
        let is_file = |kind: &Kind| matches!(kind, Kind::File(_));
        let Some((name, kind)) = self.any(is_file) else { return };
        fs::hard_link(self.path(&name), self.path(&fresh))
            .unwrap_or_else(|e| panic!("link {name} {fresh}: {e}"));
        self.model.insert(fresh, kind);
    }

    /// To a new name, or over another file.
    fn rename(&mut self, fresh: String) {
        let Some((name, kind)) = self.any(|_| true) else { return };
        let other = self.any(|kind| matches!(kind, Kind::File(_)));
        let target = match (kind, other) {
            (Kind::File(one), Some((other, Kind::File(two)))) if one != two => other,
            _ => fresh,
        };
        fs::rename(self.path(&name), self.path(&target))
            .unwrap_or_else(|e| panic!("rename {name} {target}: {e}"));
        self.model.remove(&name);
        self.model.insert(target, kind);
    }

    fn remove(&mut self) {
        let Some((name, kind)) = self.any(|_| true) else { return };
        let removed = match kind {
            Kind::Directory => fs::remove_dir(self.path(&name)),
            Kind::File(_) | Kind::Link => fs::remove_file(self.path(&name)),
        };
        removed.unwrap_or_else(|e| panic!("remove {name} ({kind:?}): {e}"));
        self.model.remove(&name);
    }

    fn any(&mut self, fits: impl Fn(&Kind) -> bool) -> Option<(String, Kind)> {
        let fitting: Vec<_> = self.model.iter().filter(|(_, kind)| fits(kind)).collect();
        if fitting.is_empty() {
            return None;
        }
        let (name, kind) = fitting[self.dice.below(fitting.len())];
        Some((name.clone(), *kind))
    }

    /// No name is missing or doubled, and each file has its content.
    fn check(&self) {
        let listed = fs::read_dir(&self.place).expect("it can be listed");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("an entry").file_name().into_string().expect("our names")
        };
        let mut listed: Vec<String> = listed.map(name).collect();
        listed.sort();
        let mut expected: Vec<String> = self.model.keys().cloned().collect();
        expected.sort();
        assert_eq!(listed, expected, "names after {} steps", self.next);
        for (name, kind) in &self.model {
            if let Kind::File(made) = kind {
                let content = fs::read_to_string(self.path(name));
                let content = content.unwrap_or_else(|e| panic!("read {name}: {e}"));
                assert_eq!(content, format!("n{made}"), "content of {name}");
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }
}
