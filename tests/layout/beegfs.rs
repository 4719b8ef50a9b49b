//! BeeGFS: what its control operations answer, in the new form and the old one.

use std::cell::Cell;
use std::ffi::CStr;

use iofwd::layout::{Advice, Engine, Server, Shape, Source, Stripes, beegfs, probe};

/// An open file of a BeeGFS.
struct File {
    pattern: u32,
    chunk: u32,
    /// Group or target, and the first target of the group.
    targets: Vec<(u32, u32)>,
    old: bool,
    calls: Cell<usize>,
}

impl Source for File {
    fn attribute(&self, _name: &CStr) -> Option<Vec<u8>> {
        None
    }

    fn control(&self, command: u32, data: &mut [u8]) -> Option<()> {
        self.calls.set(self.calls.get() + 1);
        match command {
            beegfs::INFO => {
                assert_eq!(data.len(), 12);
                data[..4].copy_from_slice(&self.pattern.to_le_bytes());
                data[4..8].copy_from_slice(&self.chunk.to_le_bytes());
                data[8..10].copy_from_slice(&(self.targets.len() as u16).to_le_bytes());
            }
            beegfs::TARGET if !self.old => {
                assert_eq!(data.len(), 536);
                let index = u32::from_le_bytes(*data.first_chunk().expect("an index"));
                let (target, first) = self.targets[index as usize];
                data[4..8].copy_from_slice(&target.to_le_bytes());
                data[8..12].copy_from_slice(&first.to_le_bytes());
            }
            beegfs::OLD_TARGET if self.old => {
                assert_eq!(data.len(), 262);
                let index = u16::from_le_bytes(*data.first_chunk().expect("an index"));
                let target = self.targets[usize::from(index)].0 as u16;
                data[2..4].copy_from_slice(&target.to_le_bytes());
            }
            _ => return None,
        }
        Some(())
    }

    fn hint(&self) -> Option<Engine> {
        None
    }
}

fn file(pattern: u32, chunk: u32, targets: &[(u32, u32)], old: bool) -> File {
    File { pattern, chunk, targets: targets.to_vec(), old, calls: Cell::new(0) }
}

fn stripes(file: &File) -> Stripes {
    let (engine, said) = probe(file, &Advice::default());
    assert_eq!(engine, Engine::BeeGfs);
    let Ok(Shape::Stripes(stripes)) = said.map(|description| description.shape) else {
        panic!("no stripes")
    };
    stripes
}

#[test]
fn targets_are_asked_for_one_by_one_and_keep_their_order() {
    let file = file(1, 524_288, &[(201, 0), (102, 0), (203, 0)], false);
    let servers = [201, 102, 203].map(Server::Target).to_vec();
    assert_eq!(stripes(&file), Stripes { unit: 524_288, servers });
    assert_eq!(file.calls.get(), 4);
}

#[test]
fn older_ones_answer_in_the_old_form() {
    let file = file(2, 65_536, &[(7, 0), (9, 0)], true);
    assert_eq!(stripes(&file).servers, [Server::Target(7), Server::Target(9)]);
}

#[test]
fn of_a_group_of_mirrors_the_first_target_counts() {
    let file = file(3, 65_536, &[(1, 301), (2, 302)], false);
    assert_eq!(stripes(&file).servers, [Server::Target(301), Server::Target(302)]);
}

#[test]
fn answers_that_make_no_sense_are_refused() {
    for file in [
        file(9, 65_536, &[(1, 1)], false),
        file(1, 0, &[(1, 1)], false),
        file(1, 65_536, &[], false),
        file(1, 65_536, &vec![(1, 1); 2_000], false),
    ] {
        let (engine, said) = probe(&file, &Advice::default());
        assert_eq!((engine, said.is_err()), (Engine::BeeGfs, true));
        assert_eq!(file.calls.get(), 1, "nothing more is asked");
    }
}
