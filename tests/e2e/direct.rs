//! Data that go around the cache of the agent's node are right whatever their sizes: through two
//! agents and beside them, one after the other and all at once.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::thread;

use super::harness::{Mount, program};

const DIRECT: &[&str] = &["--data=direct"];
const STRIPED: &[&str] = &["--data=direct", "--servers=4", "--stripe=16384"];

#[test]
fn odd_sizes_through_two_agents_and_beside_them_are_right_around_the_cache() {
    for (seed, options) in [(1, DIRECT), (2, STRIPED)] {
        let Some(mount) = Mount::start(options) else { return };
        if !can_go_around(mount.backing()) {
            return;
        }
        let another = mount.another(options);
        let places = [mount.path(), another.path(), mount.backing()];
        Trial::new(&places, seed).run(1_500);
        assert!(opened_direct(mount.path()) > 0, "the agent goes through the cache");
    }
}

/// Writers of different bytes of the same pages, some with whole pages and some with parts of them, do
/// not undo each other's work.
#[test]
fn neighbours_in_a_page_do_not_undo_each_other_around_the_cache() {
    let Some(mount) = Mount::start(DIRECT) else { return };
    if !can_go_around(mount.backing()) {
        return;
    }
    let another = mount.another(DIRECT);
    fs::write(mount.backing().join("file"), vec![0; WRITERS * SHARE]).unwrap();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let place = [mount.path(), another.path()][writer % 2];
            scope.spawn(move || write_share(place, writer));
        }
    });
    for (writer, share) in fs::read(mount.path().join("file")).unwrap().chunks(SHARE).enumerate() {
        let expected = writer as u8 + 1;
        let wrong = share.iter().position(|byte| *byte != expected);
        assert_eq!(wrong, None, "writer {writer}");
    }
}

const WRITERS: usize = 8;
/// Not a whole number of pages: neighbours share one.
const SHARE: usize = 20 * 4096 + 1365;

/// One writer's bytes, piece by piece: whole pages where there are any, parts at both ends.
fn write_share(place: &Path, writer: usize) {
    let file = OpenOptions::new().write(true).open(place.join("file")).unwrap();
    let (begin, end) = (writer * SHARE, (writer + 1) * SHARE);
    for round in 0..10 {
        let mut at = begin;
        while at < end {
            // In the last round the final bytes.
            let byte = if round == 9 { writer as u8 + 1 } else { 100 + round };
            let length = match at % 4096 {
                0 => {
                    if end - at >= 4096 {
                        4096
                    } else {
                        end - at
                    }
                }
                odd => (4096 - odd).min(end - at),
            };
            file.write_all_at(&vec![byte; length], at as u64).unwrap();
            at += length;
        }
    }
}

/// The same operations on a file that can be reached from several places, and on bytes in memory.
struct Trial {
    files: Vec<File>,
    appending: Vec<File>,
    expected: Vec<u8>,
    random: u64,
}

impl Trial {
    fn new(places: &[&Path], seed: u64) -> Trial {
        let path = |place: &&Path| place.join("file");
        File::create(path(&places[0])).unwrap();
        let open = |options: &mut OpenOptions| -> Vec<File> {
            places.iter().map(|place| options.open(path(place)).unwrap()).collect()
        };
        Trial {
            files: open(OpenOptions::new().read(true).write(true)),
            appending: open(OpenOptions::new().append(true)),
            expected: Vec::new(),
            random: seed,
        }
    }

    fn run(&mut self, steps: usize) {
        for step in 0..steps {
            let (place, other) = (self.below(self.files.len()), self.below(self.files.len()));
            match self.below(10) {
                0 => self.truncate(place),
                1 => self.append(place, step),
                2..=5 => self.write(place, step),
                _ => {}
            }
            self.read(other, step);
        }
        let mut whole = vec![0; MOST + 1];
        let length = self.files[0].read_at(&mut whole, 0).unwrap();
        assert!(whole[..length] == self.expected[..], "the file in the end");
    }

    fn write(&mut self, place: usize, step: usize) {
        let (at, length) = self.range();
        let bytes: Vec<u8> = (0..length).map(|byte| (byte + step * 7) as u8).collect();
        self.files[place].write_all_at(&bytes, at as u64).unwrap();
        if self.expected.len() < at + length {
            self.expected.resize(at + length, 0);
        }
        self.expected[at..at + length].copy_from_slice(&bytes);
    }

    fn append(&mut self, place: usize, step: usize) {
        let (_, length) = self.range();
        if self.expected.len() + length <= MOST {
            let bytes = vec![step as u8; length];
            std::io::Write::write_all(&mut self.appending[place], &bytes).unwrap();
            self.expected.extend(bytes);
        }
    }

    fn truncate(&mut self, place: usize) {
        let (at, length) = self.range();
        self.files[place].set_len((at + length) as u64).unwrap();
        self.expected.resize(at + length, 0);
    }

    fn read(&mut self, place: usize, step: usize) {
        let (at, length) = self.range();
        let mut bytes = vec![0xa5; length];
        let count = self.files[place].read_at(&mut bytes, at as u64).unwrap();
        let there = self.expected.get(at..).unwrap_or_default();
        let there = &there[..there.len().min(length)];
        assert_eq!(count, there.len(), "step {step}: bytes read at {at} from place {place}");
        let wrong = bytes[..count].iter().zip(there).position(|(is, should)| is != should);
        assert_eq!(wrong, None, "step {step}: {length} bytes at {at} from place {place}");
    }

    /// Whole pages, whole sectors, or anything.
    fn range(&mut self) -> (usize, usize) {
        let unit = [4096, 512, 1][self.below(3)];
        let at = self.below(MOST / 2 / unit) * unit;
        let length = (1 + self.below((MOST / 2 / unit).min(65_536 / unit))) * unit;
        (at, length)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) as usize % bound
    }
}

const MOST: usize = 512 << 10;

/// Whether the directory's file system can do without its cache; it says so if not.
fn can_go_around(directory: &Path) -> bool {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).custom_flags(nix::libc::O_DIRECT);
    let can = options.open(directory.join("probe")).is_ok();
    if !can {
        println!("skipped: no O_DIRECT on the file system of {}", directory.display());
    }
    can
}

fn opened_direct(mountpoint: &Path) -> u64 {
    let output = Command::new(program()).args(["status", "--json"]).arg(mountpoint).output();
    let report: serde_json::Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    report["opened_direct"].as_u64().unwrap()
}
