//! CephFS, OrangeFS and GlusterFS, and what an agent tells.

use iofwd::layout::pvfs::Ranges;
use iofwd::layout::{
    Description, Engine, Server, Servers, Shape, Stripes, Told, ceph, gluster, pvfs,
};
use iofwd_scheduler::request::ServerId;
use proptest::prelude::*;

/// `system.pvfs2.md` of a file: 56 bytes.
fn distribution(name: &str, strip: u64) -> Vec<u8> {
    let mut bytes = (name.len() as u32).to_le_bytes().to_vec();
    bytes.extend(name.as_bytes());
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(strip.to_le_bytes());
    bytes.resize(56, 0);
    bytes
}

fn handles(handles: &[u64]) -> Vec<u8> {
    handles.iter().flat_map(|handle| handle.to_le_bytes()).collect()
}

fn ranges() -> Ranges {
    let lines = ["a 100-199", "b 200-299", "c 300-399"].map(|line| format!("Range {line}\n"));
    let text = format!("<DataHandleRanges>\n{}</DataHandleRanges>\n", lines.concat());
    Ranges::parse(&text).expect("a configuration")
}

#[test]
fn ceph_says_unit_count_size_and_pool() {
    let text = "stripe_unit=65536 stripe_count=4 object_size=1048576 pool=cephfs_data";
    for (text, pool) in [
        (text.to_string(), "cephfs_data"),
        (format!("{text} pool_namespace=users"), "cephfs_data"),
        (format!("{text} two"), "cephfs_data two"),
    ] {
        let description = ceph::parse(text.as_bytes()).expect("a layout");
        let Shape::Objects(objects) = &description.shape else { panic!("{description:?}") };
        assert_eq!((objects.unit, objects.count, objects.object_size), (65_536, 4, 1 << 20));
        assert_eq!(objects.pool, pool);
        // Where the objects are is not said: until it is known all are one server's.
        let servers = Servers::new(8);
        let layout = description.layout(&|server| servers.number(server)).expect("it makes sense");
        assert_eq!(layout.server_of(5 << 20), Some(ServerId(0)));
        assert_eq!(servers.names()[0].to_string(), format!("pool:{pool}"));
    }
    let printed = br#"{"epoch":9,"pool":"p","acting":[2,0],"acting_primary":2}"#;
    assert_eq!(ceph::parse_map(printed), Some(2));
    assert_eq!(ceph::parse_map(br#"{"acting_primary":-1}"#), None);
    assert_eq!(ceph::parse_map(b""), None);
    assert_eq!(ceph::object_name(0x100_0000_0ab3, 17), "10000000ab3.00000011");
}

#[test]
fn what_ceph_would_never_say_is_refused() {
    for text in [
        "",
        "stripe_unit=65536",
        "stripe_unit=0 stripe_count=4 object_size=1048576 pool=p",
        "stripe_unit=65536 stripe_count=0 object_size=1048576 pool=p",
        "stripe_unit=65536 stripe_count=4 object_size=100000 pool=p",
        "stripe_unit=-1 stripe_count=4 object_size=1048576 pool=p",
        "stripe_unit=99999999999999999999 stripe_count=4 object_size=1 pool=p",
    ] {
        assert!(ceph::parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn orangefs_says_strip_and_handles_and_the_configuration_whose_they_are() {
    let md = distribution("simple_stripe", 65_536);
    let description = pvfs::parse(&md, &handles(&[250, 301, 101]), Some(&ranges()));
    let servers = ["b", "c", "a"].map(|name| Server::Alias(name.into())).to_vec();
    let expected = Shape::Stripes(Stripes { unit: 65_536, servers });
    assert_eq!(description.expect("a layout").shape, expected);
    let basic = distribution("basic_dist", 0);
    let whole = pvfs::parse(&basic, &handles(&[301, 101]), Some(&ranges())).expect("a layout");
    assert_eq!(whole.shape, Shape::Whole(Server::Alias("c".into())));
}

#[test]
fn handles_of_nobody_make_the_file_one_servers() {
    let md = distribution("simple_stripe", 65_536);
    let known = ranges();
    for ranges in [None, Some(&known)] {
        let description = pvfs::parse(&md, &handles(&[250, 999]), ranges).expect("a layout");
        assert_eq!(description.shape, Shape::Whole(Server::Only));
    }
    assert!(pvfs::parse(&distribution("twod_stripe", 1), &handles(&[250]), None).is_err());
    assert!(pvfs::parse(&distribution("simple_stripe", 0), &handles(&[250]), None).is_err());
    assert!(pvfs::parse(&md, &[], None).is_err());
    assert!(pvfs::parse(&md, &[0; 12], None).is_err());
    assert!(pvfs::parse(&md[..20], &handles(&[250]), None).is_err());
}

#[test]
fn gluster_names_the_brick_of_the_whole_file() {
    let said = b"(<DISTRIBUTE:v-dht> <POSIX(/b0):host:/b0/a>)";
    let expected = Description::whole(Engine::Gluster, Server::Brick("host:/b0".into()));
    assert_eq!(gluster::parse(said), Ok(expected.clone()));
    let replicas = b"(<REPLICATE:v-replicate-0> <POSIX(/b0):host:/b0/a> <POSIX(/b1):other:/b1/a>)";
    assert_eq!(gluster::parse(replicas), Ok(expected));
    for nothing in [&b""[..], b"(<DISTRIBUTE:v-dht>)", b"<POSIX(", b"<POSIX(x):h:", b"\xff\xfe"] {
        assert!(gluster::parse(nothing).is_err(), "{nothing:?}");
    }
}

#[test]
fn what_an_agent_tells_survives_the_way() {
    let shape = Shape::Whole(Server::Brick("a host:/with, \"odd\"\nname".into()));
    let description = Description { engine: Engine::Gluster, generation: u64::MAX, shape };
    let told = Told { description, cost: 7, queues: vec![Server::Only, Server::Ost(3)] };
    assert_eq!(Told::from_text(&told.to_text()), Some(told));
    assert_eq!(Told::from_text("none"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_layout_of_ceph_is_read_back(
        units in 1u64..1000,
        rows in 1u64..100,
        count in 1u64..1000,
        pool in "[a-z][a-z0-9_.-]{0,30}",
    ) {
        let (unit, size) = (units * 65_536, units * 65_536 * rows);
        let text = format!("stripe_unit={unit} stripe_count={count} object_size={size} pool={pool}");
        let description = ceph::parse(text.as_bytes()).expect("a layout");
        let Shape::Objects(objects) = description.shape else { panic!("no objects") };
        prop_assert_eq!((objects.unit, objects.count, objects.object_size), (unit, count, size));
        prop_assert_eq!(objects.pool, pool);
    }

    #[test]
    fn any_layout_of_orangefs_is_read_back(
        strip in 1u64..,
        list in proptest::collection::vec(100u64..400, 1..50),
    ) {
        let md = distribution("simple_stripe", strip);
        let description = pvfs::parse(&md, &handles(&list), Some(&ranges())).expect("a layout");
        let Shape::Stripes(stripes) = description.shape else { panic!("no stripes") };
        prop_assert_eq!(stripes.unit, strip);
        let name = |handle: &u64| ["a", "b", "c"][(handle / 100 - 1) as usize].into();
        let expected: Vec<Server> = list.iter().map(name).map(Server::Alias).collect();
        prop_assert_eq!(stripes.servers, expected);
    }
}
