//! Several clients are as programs on one machine, in the default mode: random operations of two,
//! and what is not left to chance.

mod appending;
mod dying;
mod visibility;

use std::fs;

use super::harness::{Clients, Through};
use super::sequence::{Holes, Sequences, Trial};

#[test]
fn two_mounts_of_a_directory_are_as_two_programs_on_one_machine() {
    compare(Through::Embedded, 30);
}

#[test]
fn two_clients_of_an_agent_are_as_two_programs_on_one_machine() {
    compare(Through::Tcp, 30);
    compare(Through::Unix, 20);
}

#[test]
fn clients_of_two_agents_are_as_two_programs_on_one_machine() {
    compare(Through::AgentEach, 30);
}

#[test]
fn clients_of_two_agents_over_four_data_servers_are_as_two_programs_on_one_machine() {
    compare(Through::Servers("64K"), 10);
    compare(Through::Servers("4K"), 10);
}

fn compare(through: Through, cases: u32) {
    let Some(clients) = Clients::start(through, 2, &[]) else { return };
    let (backing, plain) = (clients.ground.backing(), clients.ground.plain());
    let what = format!("two clients, {through:?}");
    let sequences = Sequences { what: &what, clients: 2, holes: Holes::Asked, cases };
    let tried = sequences.each(|name, steps| {
        let seen: Vec<_> = clients.mounts.iter().map(|mount| mount.path().join(name)).collect();
        Trial::of_several(&seen, backing.join(name), &plain.join(name)).run(steps)
    });
    let seen = fs::read_dir(backing).expect("it is still there").count();
    assert_eq!(seen, tried, "each sequence had a directory of its own");
}

/// Two programs on one machine, by the same steps: what is found must be the mounts' doing.
#[test]
fn two_programs_on_one_machine_are_as_two_on_another() {
    let room = tempfile::tempdir().expect("a temporary directory can be made");
    let (one, two) = (room.path().join("one"), room.path().join("two"));
    let sequences = Sequences { what: "two programs", clients: 2, holes: Holes::Asked, cases: 10 };
    sequences.each(|name, steps| {
        let seen = [one.join(name), one.join(name)];
        Trial::of_several(&seen, one.join(name), &two.join(name)).run(steps)
    });
}
