//! Clients that do not keep to the protocol, or to manners: they get errors, or are cut off, and
//! whoever behaves is served meanwhile.

mod raw;

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use iofwd::wire::answer::Value;
use iofwd::wire::call::{Call, Request};
use iofwd::wire::frame::{self, PAYLOAD_MOST, PREFIX, Prefix};
use iofwd::wire::greeting::{Hello, Purpose, Reception};
use iofwd_mount::store::{NewNode, NodeId, OpenHow, ReadAt, WriteAt};

use super::harness::{Agent, Mount, eventually};
use raw::{Raw, greet, mount_purpose};

const HOW: OpenHow = OpenHow { flags: 2, readable: false };
const NEW: NewNode = NewNode { mode: 0o100_644, umask: 0, device: 0 };

/// An agent that gives silent clients up soon, with a client that behaves.
fn ground() -> Option<(Agent, Mount)> {
    let agent =
        Agent::start("[limits]\nidle = \"2s\"\nmemory = \"32M\"\nmemory_per_client = \"16M\"")?;
    let mount = Mount::remote(&agent, &agent.over_unix(), &[]);
    Some((agent, mount))
}

/// Somebody who behaves still is served.
fn is_served(mount: &Mount, name: &str) {
    let path = mount.path().join(name);
    fs::write(&path, name).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), name);
}

#[test]
fn what_belongs_to_others_cannot_be_named() {
    let Some((agent, mount)) = ground() else { return };
    fs::write(mount.path().join("file"), "secret").unwrap();
    let mut owner = Raw::connect(&agent);
    let node = owner.lookup(NodeId::ROOT, b"file");
    let Ok(Value::Opened(opened)) = owner.ask(Call::Open { node, how: HOW }) else {
        panic!("open")
    };
    let mut thief = Raw::connect(&agent);
    let handle = opened.handle;
    let read = Call::Read(ReadAt { node, handle, offset: 0, size: 6 });
    assert_eq!(owner.ask_for(read.clone(), 6), Ok((Value::Data, b"secret".to_vec())));
    assert_eq!(thief.ask_for(read, 6).unwrap_err(), libc::ESTALE);
    let read = Call::Read(ReadAt { node: NodeId::ROOT, handle, offset: 0, size: 6 });
    assert_eq!(thief.ask_for(read, 6).unwrap_err(), libc::EBADF);
    assert_eq!(thief.ask(Call::Getattr { node, handle: None }), Err(libc::ESTALE));
    assert_eq!(thief.ask(Call::Getattr { node: NodeId(999), handle: None }), Err(libc::ESTALE));
    let release = Call::Release { node, handle };
    assert_eq!(thief.ask(release), Ok(Value::Nothing));
    let read = Call::Read(ReadAt { node, handle, offset: 0, size: 6 });
    assert!(owner.ask_for(read, 6).is_ok(), "nobody else can close it");
    is_served(&mount, "after");
}

#[test]
fn no_name_leads_out_of_the_export() {
    let Some((agent, mount)) = ground() else { return };
    let mut raw = Raw::connect(&agent);
    let parent = NodeId::ROOT;
    for name in [&b".."[..], b".", b"", b"a/b", b"../../etc/passwd", b"a\0b"] {
        assert_eq!(raw.ask(Call::Lookup { parent, name }), Err(libc::EINVAL), "{name:?}");
        assert_eq!(raw.ask(Call::Mkdir { parent, name, new: NEW }), Err(libc::EINVAL));
        assert_eq!(raw.ask(Call::Create { parent, name, how: HOW, new: NEW }), Err(libc::EINVAL));
        assert_eq!(raw.ask(Call::Unlink { parent, name }), Err(libc::EINVAL));
        let rename = Call::Rename { from: parent, name, to: parent, to_name: b"x", flags: 0 };
        assert_eq!(raw.ask(rename), Err(libc::EINVAL));
    }
    let purpose = Purpose::Mount {
        export: String::new(),
        subtree: b"../..".to_vec(),
        client: "hostile".into(),
    };
    let (_, reception) = greet(&agent, &purpose);
    assert!(matches!(reception, Reception::Refused(_)), "{reception:?}");
    std::os::unix::fs::symlink("/etc", mount.path().join("etc")).unwrap();
    let purpose = Purpose::Mount {
        export: String::new(),
        subtree: b"etc".to_vec(),
        client: "hostile".into(),
    };
    let (_, reception) = greet(&agent, &purpose);
    assert!(matches!(reception, Reception::Refused(_)), "a link is no directory: {reception:?}");
}

#[test]
fn numbers_out_of_range_are_refused() {
    let Some((agent, mount)) = ground() else { return };
    fs::write(mount.path().join("file"), "data").unwrap();
    let mut raw = Raw::connect(&agent);
    let node = raw.lookup(NodeId::ROOT, b"file");
    let Ok(Value::Opened(opened)) = raw.ask(Call::Open { node, how: HOW }) else { panic!("open") };
    let handle = opened.handle;
    for offset in [u64::MAX, u64::MAX - 3, i64::MAX as u64, 1 << 63] {
        let read = Call::Read(ReadAt { node, handle, offset, size: 4096 });
        assert_eq!(raw.ask_for(read, 4096).unwrap_err(), libc::EINVAL, "{offset}");
        let at = WriteAt { node, handle, offset, append: false, late: false };
        assert_eq!(raw.tell(Call::Write(at), b"more"), Err(libc::EINVAL), "{offset}");
        let allocate = Call::Fallocate { handle, offset, length: u64::MAX, mode: 0 };
        assert!(raw.ask(allocate).is_err());
    }
    // More than there is room for is not read.
    let read = Call::Read(ReadAt { node, handle, offset: 0, size: u32::MAX });
    assert_eq!(raw.ask_for(read, 2), Ok((Value::Data, b"da".to_vec())));
    raw.send_unanswered(Call::Forget { node, references: u64::MAX });
    raw.send_unanswered(Call::Forget { node: NodeId(12_345), references: 1 });
    raw.send_unanswered(Call::Cancel { id: u64::MAX });
    assert_eq!(raw.ask(Call::Ping), Ok(Value::Nothing));
    is_served(&mount, "after");
}

#[test]
fn who_does_not_keep_to_the_protocol_is_cut_off() {
    let Some((agent, mount)) = ground() else { return };
    let unknown = [&[0xac, 2, 0][..], &[200, 1]].concat();
    let stranger = frame::encode(&Request { id: 1, slot: 77, once: None, call: Call::Ping }, 0, 0);
    let too_long = Prefix { head: 8, payload: PAYLOAD_MOST + 1, room: 0, in_order: false };
    let empty = Prefix { head: 0, payload: 0, room: 0, in_order: false };
    let groups = Call::Introduce { slot: 0, uid: 0, gid: 0, job: 0 };
    let groups = frame::encode_in_order(&Request { id: 0, slot: 0, once: None, call: groups }, 3);
    let slots = Call::Introduce { slot: u32::MAX, uid: 0, gid: 0, job: 0 };
    let cases: [(&str, Vec<u8>); 7] = [
        ("a length beyond the bound", too_long.to_bytes().to_vec()),
        ("an empty head", empty.to_bytes().to_vec()),
        ("noise", vec![0xff; 4096]),
        ("a call that does not exist", framed(&unknown)),
        ("somebody who was not introduced", stranger),
        ("groups that are none", [groups, vec![1, 2, 3]].concat()),
        (
            "a slot that cannot be",
            frame::encode_in_order(&Request { id: 0, slot: 0, once: None, call: slots }, 0),
        ),
    ];
    for (what, bytes) in cases {
        let mut raw = Raw::connect(&agent);
        raw.send(&bytes);
        assert!(raw.is_cut_off(), "{what}");
        is_served(&mount, "after");
    }
}

fn framed(head: &[u8]) -> Vec<u8> {
    let prefix = Prefix { head: head.len(), payload: 0, room: 0, in_order: false };
    [&prefix.to_bytes()[..], head].concat()
}

#[test]
fn half_a_frame_and_a_slow_drip_come_to_an_end() {
    let Some((agent, mount)) = ground() else { return };
    let ping = frame::encode(&Request { id: 1, slot: 0, once: None, call: Call::Ping }, 1 << 20, 0);
    let mut silent = Raw::connect(&agent);
    silent.send(&ping[..PREFIX + 1]);
    let mut dripping = Raw::connect(&agent);
    dripping.send(&ping);
    let began = Instant::now();
    while !dripping.drip() {
        assert!(began.elapsed() < Duration::from_secs(20), "a drip goes on for ever");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(silent.is_cut_off(), "half a frame");
    is_served(&mount, "after");
    eventually("their memory is free", || agent.number("memory_bytes") < 64 << 10);
}

#[test]
fn strangers_are_refused_in_words_or_not_at_all() {
    let Some((agent, mount)) = ground() else { return };
    let mut noise = UnixStream::connect(agent.socket()).unwrap();
    noise.write_all(&[b'G'; 64]).unwrap();
    assert!(raw::ends(&mut noise), "what is no greeting is not answered");
    let old = Hello { versions: vec![0], ..Hello::new(&mount_purpose(), [0; 32]) };
    let Reception::Refused(why) = raw::say_hello(&agent, &old) else { panic!("not refused") };
    assert!(why.contains("versions"), "{why}");
    let wrong = Hello { magic: *b"other\n", ..Hello::new(&mount_purpose(), [0; 32]) };
    let mut stream = UnixStream::connect(agent.socket()).unwrap();
    stream.write_all(&frame::encode(&wrong, 0, 0)).unwrap();
    assert!(raw::ends(&mut stream));
    let join = Purpose::Join { session: 1, token: [0; 32] };
    let (_, reception) = greet(&agent, &join);
    assert!(matches!(reception, Reception::Refused(_)), "a guessed token: {reception:?}");
    let silent: Vec<_> =
        (0..64).map(|_| UnixStream::connect(agent.socket()).expect("the agent listens")).collect();
    is_served(&mount, "while others say nothing");
    drop(silent);
}

#[test]
fn who_asks_and_never_listens_harms_nobody() {
    let Some((agent, mount)) = ground() else { return };
    fs::write(mount.path().join("large"), vec![7; 1 << 20]).unwrap();
    let mut deaf = Raw::connect(&agent);
    let node = deaf.lookup(NodeId::ROOT, b"large");
    let Ok(Value::Opened(opened)) = deaf.ask(Call::Open { node, how: HOW }) else { panic!("open") };
    let at = ReadAt { node, handle: opened.handle, offset: 0, size: 1 << 20 };
    let sent = deaf.flood(&Call::Read(at), 1 << 20, 4000);
    assert!(sent < 4000, "the agent took in {sent} requests for a megabyte each");
    is_served(&mount, "while one does not listen");
    let memory = agent.number("memory_bytes_peak");
    assert!(memory <= 32 << 20, "{memory} bytes under way");
    // Silent for too long: what it held is given back.
    // Its own client counts too.
    eventually("the deaf client is given up", || agent.number("clients") == 1);
    eventually("its memory is free", || agent.number("memory_bytes") < 1 << 20);
}
