//! Lustre: every version of `lustre.lov`.

use iofwd::layout::{Description, Engine, Problem, Range, Server, Shape, Stripes, lustre};
use proptest::collection::vec;
use proptest::prelude::*;

use super::writer::{Component, INSTANTIATED, PREFERRED, Plain, STALE, component, composite};

const MIB: u32 = 1 << 20;
const EOF: u64 = u64::MAX;

fn stripes(unit: u32, osts: &[u32]) -> Stripes {
    let servers = osts.iter().copied().map(Server::Ost).collect();
    Stripes { unit: unit.into(), servers }
}

fn shape(bytes: &[u8]) -> Shape {
    lustre::parse(bytes).expect("a layout").shape
}

/// The ranges of a composite layout as `start, end, servers`.
fn ranges(components: &[Component]) -> Vec<(u64, u64, String)> {
    let Shape::Ranges(ranges) = shape(&composite(1, components)) else { panic!("no ranges") };
    let line = |range: &Range| {
        let names: Vec<String> = range.stripes.servers.iter().map(ToString::to_string).collect();
        (range.start, range.end, names.join(" "))
    };
    ranges.iter().map(line).collect()
}

fn row(start: u64, end: u64, servers: &str) -> (u64, u64, String) {
    (start, end, servers.into())
}

#[test]
fn the_printed_example_of_v1() {
    let bytes = "d00bd10b 01000000 0400000000000000 d00b000002000000 00001000 0200 0000 \
        6400000000000000 0000000000000000 00000000 03000000 \
        6500000000000000 0000000000000000 00000000 05000000";
    let digits: Vec<u8> = bytes.bytes().filter(|byte| *byte != b' ').collect();
    let value = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16);
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| value(pair).expect("digits")).collect();
    let expected = Description {
        engine: Engine::Lustre,
        generation: 0,
        shape: Shape::Stripes(stripes(MIB, &[3, 5])),
    };
    assert_eq!(lustre::parse(&bytes), Ok(expected));
}

#[test]
fn v3_has_a_pool_and_then_the_same_list() {
    let plain =
        Plain { pool: Some("flash"), generation: 9, ..Plain::raid0(4 * MIB, &[8, 1, 2000]) };
    let description = lustre::parse(&plain.bytes()).expect("a layout");
    assert_eq!(description.generation, 9);
    assert_eq!(description.shape, Shape::Stripes(stripes(4 * MIB, &[8, 1, 2000])));
}

#[test]
fn overstriped_files_name_a_target_twice() {
    let plain = Plain { pattern: 0x201, ..Plain::raid0(MIB, &[1, 2, 1, 2]) };
    assert_eq!(shape(&plain.bytes()), Shape::Stripes(stripes(MIB, &[1, 2, 1, 2])));
}

#[test]
fn objects_are_counted_by_what_is_there_and_never_by_the_count() {
    let boasting = Plain { stripe_count: 0xffff, ..Plain::raid0(MIB, &[4]) };
    assert_eq!(shape(&boasting.bytes()), Shape::Stripes(stripes(MIB, &[4])));
    let none = Plain { stripe_count: 4, ..Plain::raid0(MIB, &[]) };
    assert_eq!(shape(&none.bytes()), Shape::Ranges(Vec::new()));
}

#[test]
fn released_files_have_no_objects_and_foreign_ones_no_stripes() {
    let released = Plain { pattern: 0x8000_0001, ..Plain::raid0(MIB, &[]) };
    assert_eq!(shape(&released.bytes()), Shape::Ranges(Vec::new()));
    let mut foreign = 0x0BD7_0BD0u32.to_le_bytes().to_vec();
    foreign.extend([0; 28]);
    assert_eq!(shape(&foreign), Shape::Whole(Server::Mdt));
}

#[test]
fn numbers_written_the_other_way_round_are_read_all_the_same() {
    let mut bytes = Plain { generation: 3, ..Plain::raid0(MIB, &[3, 5]) }.bytes();
    let fields = [(0, 4), (4, 4), (8, 16), (24, 4), (28, 2), (30, 2)];
    let objects = [(32, 16), (48, 4), (52, 4), (56, 16), (72, 4), (76, 4)];
    for (at, length) in fields.into_iter().chain(objects) {
        bytes[at..at + length].reverse();
    }
    let description = lustre::parse(&bytes).expect("a layout");
    assert_eq!(description.generation, 3);
    assert_eq!(description.shape, Shape::Stripes(stripes(MIB, &[3, 5])));
}

#[test]
fn a_growing_file_has_components_that_nobody_holds_yet() {
    let bytes = composite(
        3,
        &[
            component(0, 2 << 20, INSTANTIATED, Plain::raid0(MIB, &[0])),
            component(2 << 20, 1 << 30, INSTANTIATED, Plain::raid0(2 * MIB, &[1, 4])),
            component(1 << 30, EOF, 0, Plain { stripe_count: 8, ..Plain::raid0(4 * MIB, &[]) }),
        ],
    );
    let description = lustre::parse(&bytes).expect("a layout");
    assert_eq!(description.generation, 3);
    let expected = vec![
        Range { start: 0, end: 2 << 20, stripes: stripes(MIB, &[0]) },
        Range { start: 2 << 20, end: 1 << 30, stripes: stripes(2 * MIB, &[1, 4]) },
    ];
    assert_eq!(description.shape, Shape::Ranges(expected));
}

#[test]
fn the_first_bytes_may_be_on_the_metadata_server() {
    let dom = Plain { pattern: 0x100, ..Plain::raid0(MIB, &[]) };
    let found = ranges(&[
        component(0, 1 << 20, INSTANTIATED, dom.clone()),
        component(1 << 20, EOF, INSTANTIATED, Plain::raid0(MIB, &[2, 3])),
    ]);
    assert_eq!(found, [row(0, 1 << 20, "mdt"), row(1 << 20, EOF, "ost:2 ost:3")]);
    assert_eq!(shape(&dom.bytes()), Shape::Whole(Server::Mdt));
}

#[test]
fn of_mirrors_the_first_that_is_not_stale_counts_and_a_preferred_one_before_it() {
    let mirror = |flags, ost| component(0, EOF, INSTANTIATED | flags, Plain::raid0(MIB, &[ost]));
    assert_eq!(ranges(&[mirror(0, 1), mirror(0, 2)]), [row(0, EOF, "ost:1")]);
    assert_eq!(ranges(&[mirror(STALE, 1), mirror(0, 2)]), [row(0, EOF, "ost:2")]);
    assert_eq!(ranges(&[mirror(0, 1), mirror(PREFERRED, 2)]), [row(0, EOF, "ost:2")]);
    assert_eq!(ranges(&[mirror(STALE, 1), mirror(STALE, 2)]), []);
}

#[test]
fn mirrors_of_other_ranges_fill_each_others_gaps() {
    let part = |start, end, flags, ost| component(start, end, flags, Plain::raid0(MIB, &[ost]));
    let found = ranges(&[
        part(0, 100, INSTANTIATED, 1),
        part(100, 200, INSTANTIATED | STALE, 2),
        part(0, 150, INSTANTIATED, 3),
        part(150, EOF, INSTANTIATED, 4),
    ]);
    assert_eq!(found, [row(0, 100, "ost:1"), row(100, 150, "ost:3"), row(150, EOF, "ost:4")]);
}

#[test]
fn extensions_and_parity_hold_no_bytes_of_the_file() {
    let part = |flags| component(0, EOF, INSTANTIATED | flags, Plain::raid0(MIB, &[1]));
    assert_eq!(ranges(&[part(0x40)]), []);
    assert_eq!(ranges(&[part(0x80)]), []);
}

#[test]
fn what_is_no_layout_is_refused_with_a_reason() {
    let reason = |bytes: &[u8]| lustre::parse(bytes).expect_err("no layout").to_string();
    assert_eq!(reason(&[0xd0, 0x0b]), "the layout ends after 2 bytes, though 4 belong to it");
    assert_eq!(reason(&[0; 64]), "0x00000000 begins no layout of a file");
    let specific = 0x0BD5_0BD0u32.to_le_bytes();
    assert_eq!(lustre::parse(&specific), Err(Problem::Magic(0x0BD5_0BD0)));
    let mut cut = composite(1, &[component(0, EOF, INSTANTIATED, Plain::raid0(MIB, &[1]))]);
    cut.pop();
    assert!(matches!(lustre::parse(&cut), Err(Problem::Short { .. })));
    let backwards = composite(1, &[component(9, 9, INSTANTIATED, Plain::raid0(MIB, &[1]))]);
    assert_eq!(reason(&backwards), "the layout's component is 'from 9 to 9'");
    assert_eq!(reason(&Plain::raid0(0, &[1]).bytes()), "the layout's stripe size is '0'");
}

fn any_plain() -> impl Strategy<Value = Plain> {
    let pool = prop_oneof![Just(None), Just(Some("flash"))];
    (1u32..=1 << 30, any::<u16>(), any::<u16>(), pool, vec(any::<u32>(), 1..40)).prop_map(
        |(stripe_size, stripe_count, generation, pool, osts)| Plain {
            pattern: 1,
            stripe_size,
            stripe_count,
            generation,
            pool,
            osts,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_list_is_read_back(plain in any_plain()) {
        let description = lustre::parse(&plain.bytes()).expect("a layout");
        prop_assert_eq!(description.generation, u64::from(plain.generation));
        prop_assert_eq!(description.shape, Shape::Stripes(stripes(plain.stripe_size, &plain.osts)));
    }

    /// The server of every byte is the one that the first good component has there.
    #[test]
    fn any_composite_is_read_back(
        parts in vec((0u64..100, 1u64..50, any::<[bool; 3]>(), any_plain()), 0..12),
        generation in any::<u32>(),
    ) {
        let components: Vec<Component> = parts.into_iter().map(|(start, length, flags, plain)| {
            let bits = [INSTANTIATED, STALE, PREFERRED];
            let flags = bits.iter().zip(flags).filter(|(_, set)| *set).map(|(bit, _)| bit).sum();
            component(start, start + length, flags, plain)
        }).collect();
        let description = lustre::parse(&composite(generation, &components)).expect("a layout");
        prop_assert_eq!(description.generation, u64::from(generation));
        let Shape::Ranges(ranges) = &description.shape else { panic!("{description:?}") };
        for byte in 0..160 {
            let good = |one: &&Component| {
                one.flags & (INSTANTIATED | STALE) == INSTANTIATED
                    && (one.start..one.end).contains(&byte)
            };
            let preferred = components.iter().filter(good).find(|one| one.flags & PREFERRED != 0);
            let expected = preferred.or_else(|| components.iter().find(good));
            let found = ranges.iter().find(|range| (range.start..range.end).contains(&byte));
            let expected = expected.map(|one| stripes(one.plain.stripe_size, &one.plain.osts));
            prop_assert_eq!(found.map(|range| &range.stripes), expected.as_ref());
        }
    }
}
