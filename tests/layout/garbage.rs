//! Bytes that are no layout: nothing panics, and nothing takes long.

use std::time::{Duration, Instant};

use iofwd::layout::{beegfs, ceph, gluster, lustre, pvfs};
use proptest::collection::vec;
use proptest::prelude::*;

use super::writer::{INSTANTIATED, Plain, component, composite};

/// Give the bytes to all parsers. What they say does not matter.
fn parse_all(bytes: &[u8]) {
    let _ = lustre::parse(bytes);
    let _ = ceph::parse(bytes);
    let _ = gluster::parse(bytes);
    let _ = pvfs::parse(bytes, bytes, None);
    let _ = pvfs::Ranges::parse(&String::from_utf8_lossy(bytes));
    if let Ok(info) = beegfs::parse_info(bytes) {
        let _ = beegfs::parse_target(bytes, &info);
    }
    let _ = beegfs::parse_old_target(bytes);
}

/// A layout that is all right, of the largest size that is read.
fn largest() -> Vec<u8> {
    let part = |number: u64| {
        let plain = Plain::raid0(65_536, &[1, 2, 3, 4]);
        component(number, number + 100, INSTANTIATED, plain)
    };
    composite(1, &(0..256).map(part).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_read_by_nobody_or_well(bytes in vec(any::<u8>(), 0..4096)) {
        parse_all(&bytes);
    }

    /// Behind a number that is right, anything may come.
    #[test]
    fn arbitrary_bytes_behind_a_good_beginning(
        magic in prop::sample::select(vec![0x0BD1u32, 0x0BD3, 0x0BD6, 0x0BD7, 0x0BD8]),
        bytes in vec(any::<u8>(), 0..4096),
    ) {
        let mut all = (magic << 16 | 0x0BD0).to_le_bytes().to_vec();
        all.extend(bytes);
        parse_all(&all);
    }

    /// A layout with some bytes changed or cut off is never more than a wrong layout.
    #[test]
    fn damaged_layouts(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        length in any::<prop::sample::Index>(),
    ) {
        let part = |start, end, osts: &[u32]| {
            component(start, end, INSTANTIATED, Plain::raid0(65_536, osts))
        };
        let mut bytes = composite(1, &[part(0, 100, &[1, 2]), part(100, u64::MAX, &[3])]);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        parse_all(&bytes);
        parse_all(&bytes[..length.index(bytes.len())]);
    }
}

#[test]
fn a_megabyte_of_garbage_costs_nothing() {
    let mut bytes = largest();
    bytes.resize(1 << 20, 0xa5);
    let begin = Instant::now();
    for _ in 0..100 {
        assert!(lustre::parse(&bytes).is_err());
        assert!(ceph::parse(&bytes).is_err());
        assert!(gluster::parse(&bytes).is_err());
        assert!(pvfs::parse(&bytes, &bytes, None).is_err());
    }
    assert!(begin.elapsed() < Duration::from_millis(500), "{:?}", begin.elapsed());
}

#[test]
fn the_largest_layout_takes_no_time_that_anybody_would_notice() {
    let bytes = largest();
    let begin = Instant::now();
    assert!(lustre::parse(&bytes).is_ok());
    assert!(begin.elapsed() < Duration::from_millis(200), "{:?}", begin.elapsed());
}

#[test]
fn components_that_share_their_bytes_do_not_multiply_them() {
    let mut bytes = composite(1, &vec![component(0, 9, INSTANTIATED, Plain::raid0(1, &[1])); 200]);
    let blob = bytes.len() as u32;
    bytes.extend(Plain::raid0(1, &[1; 1_000]).bytes());
    for entry in 0..200 {
        let at = 32 + 48 * entry + 24;
        bytes[at..at + 4].copy_from_slice(&blob.to_le_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&24_032u32.to_le_bytes());
    }
    let problem = lustre::parse(&bytes).expect_err("200,000 objects are too many");
    assert_eq!(problem.to_string(), "the layout has 5000 objects; no more than 4000 are read");
}
