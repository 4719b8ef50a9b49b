//! Appends from many clients: none lost, none torn, each writer's in its order.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::thread;

use crate::e2e::harness::{Clients, Through};

const CLIENTS: usize = 4;
const WRITERS: usize = 16;
const RECORDS: usize = 40;

#[test]
fn no_append_of_64_writers_on_4_mounts_is_lost_or_torn() {
    check(Through::Embedded);
}

#[test]
fn no_append_of_64_writers_on_4_clients_of_an_agent_is_lost_or_torn() {
    check(Through::Tcp);
    check(Through::Unix);
}

#[test]
fn no_append_of_64_writers_through_4_agents_is_lost_or_torn() {
    check(Through::AgentEach);
}

#[test]
fn no_append_of_64_writers_through_2_agents_over_4_data_servers_is_lost_or_torn() {
    check(Through::Servers("64K"));
}

fn check(through: Through) {
    let Some(clients) = Clients::start(through, CLIENTS, &[]) else { return };
    thread::scope(|scope| {
        for (client, mount) in clients.mounts.iter().enumerate() {
            for writer in 0..WRITERS {
                let log = mount.path().join("log");
                scope.spawn(move || append(&log, client * WRITERS + writer));
            }
        }
    });
    let log = fs::read_to_string(clients.ground.backing().join("log")).unwrap();
    let mut next = HashMap::new();
    for line in log.lines() {
        let mut words = line.split(' ');
        let mut number = || words.next().and_then(|word| word.parse::<usize>().ok());
        let (writer, record) = (number().expect("a writer"), number().expect("a record"));
        assert!(line == text(writer, record).trim_end(), "torn: {line:.80}");
        let expected = next.entry(writer).or_insert(0);
        assert_eq!(record, *expected, "of writer {writer}: lost, doubled or out of order");
        *expected += 1;
    }
    assert_eq!(next.len(), CLIENTS * WRITERS);
    assert!(next.values().all(|count| *count == RECORDS), "the last ones were lost: {next:?}");
}

fn append(log: &std::path::Path, writer: usize) {
    let mut file = OpenOptions::new().append(true).create(true).open(log).unwrap();
    for record in 0..RECORDS {
        let text = text(writer, record);
        assert_eq!(file.write(text.as_bytes()).unwrap(), text.len(), "a short write");
    }
}

/// Mostly short, some of many pages.
fn text(writer: usize, record: usize) -> String {
    let length = match (writer + record) % 8 {
        0 => 200_000,
        1 | 2 => 10_000,
        _ => 100 + record,
    };
    format!("{writer} {record} {}\n", "x".repeat(length))
}
