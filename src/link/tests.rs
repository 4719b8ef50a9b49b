//! Connections as their other side sees them.

use std::io::{IoSlice, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use iofwd_mount::company::KeepsBack;

use super::{Frame, Handler, Hub, Link, Outgoing};
use crate::wire::frame::{self, PREFIX, Prefix};

/// Sends every frame back; one that says so waits until it is let go.
struct Echo {
    let_go: Mutex<Receiver<()>>,
}

impl Handler for Echo {
    fn frame(&self, link: &Arc<Link>, frame: Frame) {
        if &*frame.payload == WAITS {
            let _ = self.let_go.lock().expect("nobody panics").recv();
        }
        let head: u32 = frame::decode(&frame.head).expect("a number");
        let head = frame::encode(&head, frame.payload.len(), 0);
        let payload = [IoSlice::new(&frame.payload)];
        link.send(Outgoing { head: &head, payload: &payload, share: Some(frame.share) });
    }

    fn closed(&self, _link: &Arc<Link>, _reason: &str) {}
}

const WAITS: &[u8] = b"waits";

struct Connected {
    hub: Arc<Hub>,
    link: Arc<Link>,
    other: UnixStream,
    let_go: Sender<()>,
}

impl Connected {
    fn new() -> Connected {
        let hub = Hub::start(8, 64 << 20).expect("threads");
        let (ours, other) = UnixStream::pair().expect("sockets");
        other.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let (let_go, wait) = channel();
        let echo = Box::new(Echo { let_go: Mutex::new(wait) });
        let link = hub.adopt(ours.into(), 64 << 20, echo).expect("a connection");
        Connected { hub, link, other, let_go }
    }

    /// Send all of them at once.
    fn send(&mut self, frames: &[(u32, &[u8])]) {
        let mut bytes = Vec::new();
        for (number, payload) in frames {
            bytes.extend(frame::encode(number, payload.len(), payload.len()));
            bytes.extend_from_slice(payload);
        }
        self.other.write_all(&bytes).expect("sent");
    }

    fn receive(&mut self) -> (u32, Vec<u8>) {
        let mut prefix = [0; PREFIX];
        self.other.read_exact(&mut prefix).expect("an answer in time");
        let prefix = Prefix::from_bytes(&prefix).expect("a frame");
        let mut body = vec![0; prefix.head + prefix.payload];
        self.other.read_exact(&mut body).expect("the rest of it");
        let payload = body.split_off(prefix.head);
        (frame::decode(&body).expect("a number"), payload)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.hub.stop("the test is over");
    }
}

#[test]
fn whatever_comes_together_is_answered_in_full() {
    let mut connected = Connected::new();
    let sizes = [0, 1, 100, 4096, 9000, 20_000, 150_000];
    let payloads: Vec<Vec<u8>> = sizes.iter().map(|size| vec![*size as u8; *size]).collect();
    for round in 0..50 {
        let pick = |number: u32| &*payloads[(number * 7 + round) as usize % payloads.len()];
        let frames: Vec<(u32, &[u8])> = (0..6).map(|number| (number, pick(number))).collect();
        connected.send(&frames);
        let mut answers: Vec<_> = frames.iter().map(|_| connected.receive()).collect();
        answers.sort_unstable();
        let sent: Vec<_> = frames.iter().map(|(number, bytes)| (*number, bytes.to_vec())).collect();
        assert!(answers == sent, "round {round}");
    }
    wait_until("nothing is under way", || connected.hub.memory_used().0 == 0);
}

#[test]
fn answers_do_not_wait_for_a_request_behind_them_that_takes_long() {
    let mut connected = Connected::new();
    connected.send(&[(1, b"a"), (2, b"b"), (3, WAITS), (4, b"d")]);
    let mut first: Vec<u32> = (0..3).map(|_| connected.receive().0).collect();
    first.sort_unstable();
    assert_eq!(first, [1, 2, 4]);
    connected.let_go.send(()).expect("it waits");
    assert_eq!(connected.receive(), (3, WAITS.to_vec()));
}

#[test]
fn many_threads_send_over_one_connection() {
    let mut connected = Connected::new();
    let senders: Vec<_> = (0..8u32)
        .map(|thread| {
            let link = Arc::clone(&connected.link);
            std::thread::spawn(move || {
                for number in 0..500 {
                    let payload = vec![thread as u8; (number * 37 % 5000) as usize];
                    let head = frame::encode(&(thread * 1000 + number), payload.len(), 0);
                    let payload = [IoSlice::new(&payload)];
                    link.send(Outgoing { head: &head, payload: &payload, share: None });
                }
            })
        })
        .collect();
    let mut next = [0; 8];
    for _ in 0..8 * 500 {
        let (number, payload) = connected.receive();
        let thread = (number / 1000) as usize;
        assert_eq!(number % 1000, next[thread], "in the order in which a thread sent them");
        assert_eq!(payload.len(), (number % 1000 * 37 % 5000) as usize);
        assert!(payload.iter().all(|byte| *byte == thread as u8));
        next[thread] += 1;
    }
    senders.into_iter().for_each(|sender| sender.join().expect("no panic"));
}

#[test]
fn what_nobody_waits_for_leaves_with_the_next() {
    let mut connected = Connected::new();
    connected.link.send_unhurried(&frame::encode(&1u32, 0, 0));
    let head = frame::encode(&2u32, 0, 0);
    connected.link.send(Outgoing { head: &head, payload: &[], share: None });
    assert_eq!([connected.receive().0, connected.receive().0], [1, 2]);
}

#[test]
fn what_is_kept_back_goes_when_it_departs() {
    let mut connected = Connected::new();
    for number in 1..=3u32 {
        let payload = [IoSlice::new(&[7; 100])];
        let head = frame::encode(&number, 100, 0);
        connected.link.send_soon(Outgoing { head: &head, payload: &payload, share: None });
    }
    connected.other.set_read_timeout(Some(Duration::from_millis(100))).expect("a limit");
    let nothing = connected.other.read(&mut [0]);
    assert_eq!(nothing.expect_err("it is kept back").kind(), std::io::ErrorKind::WouldBlock);
    Arc::clone(&connected.link).depart();
    for number in 1..=3 {
        assert_eq!(connected.receive(), (number, vec![7; 100]));
    }
}

#[test]
fn who_is_held_finishes_what_it_has() {
    let mut connected = Connected::new();
    connected.send(&[(1, WAITS)]);
    wait_until("it is taken", || connected.hub.is_busy());
    connected.hub.hold();
    connected.let_go.send(()).expect("it waits");
    assert_eq!(connected.receive(), (1, WAITS.to_vec()));
    wait_until("it is dealt with", || !connected.hub.is_busy());
}

#[test]
fn who_is_held_takes_nothing_more() {
    let mut connected = Connected::new();
    connected.send(&[(1, b"in time")]);
    assert_eq!(connected.receive().0, 1);
    wait_until("it is idle", || !connected.hub.is_busy());
    connected.hub.hold();
    connected.send(&[(2, b"too late")]);
    // An answer would have been there at once.
    connected.other.set_read_timeout(Some(Duration::from_millis(300))).expect("a limit");
    let answer = connected.other.read(&mut [0]);
    assert_eq!(answer.expect_err("nothing comes").kind(), std::io::ErrorKind::WouldBlock);
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::yield_now();
    }
}
