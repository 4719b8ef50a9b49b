//! A client made of nothing but a socket: it can say whatever it likes.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use iofwd::wire::answer::{Answer, Value};
use iofwd::wire::call::{Call, Request};
use iofwd::wire::frame::{self, PREFIX, Prefix};
use iofwd::wire::greeting::{Enter, Hello, Purpose, Reception};
use iofwd_mount::store::NodeId;
use serde::de::DeserializeOwned;

use super::super::harness::Agent;

/// A connection of a session of its own.
pub(super) struct Raw {
    stream: UnixStream,
    next: u64,
}

/// Wants the only export.
pub(super) fn mount_purpose() -> Purpose {
    Purpose::Mount { export: String::new(), subtree: Vec::new(), client: "hostile".into() }
}

/// Go through the greeting; what the agent said last.
pub(super) fn greet(agent: &Agent, purpose: &Purpose) -> (UnixStream, Reception) {
    let mut stream = open(agent);
    stream.write_all(&frame::encode(&Hello::new(purpose, [0; 32]), 0, 0)).unwrap();
    let offer: Reception = hear(&mut stream).unwrap().0;
    assert!(matches!(offer, Reception::Offer(_)), "{offer:?}");
    stream.write_all(&frame::encode(&Enter { proof: None }, 0, 0)).unwrap();
    let reception = hear(&mut stream).unwrap().0;
    (stream, reception)
}

/// Say this first; what the agent answers.
pub(super) fn say_hello(agent: &Agent, hello: &Hello) -> Reception {
    let mut stream = open(agent);
    stream.write_all(&frame::encode(hello, 0, 0)).unwrap();
    hear(&mut stream).unwrap().0
}

/// Whether the other side ends the connection.
pub(super) fn ends(stream: &mut UnixStream) -> bool {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        // It did not read all that was sent.
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

fn open(agent: &Agent) -> UnixStream {
    let stream = UnixStream::connect(agent.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    stream
}

/// One frame.
fn hear<T: DeserializeOwned>(stream: &mut UnixStream) -> io::Result<(T, Vec<u8>)> {
    let mut prefix = [0; PREFIX];
    stream.read_exact(&mut prefix)?;
    let prefix = Prefix::from_bytes(&prefix).map_err(io::Error::other)?;
    let mut head = vec![0; prefix.head];
    stream.read_exact(&mut head)?;
    let mut payload = vec![0; prefix.payload];
    stream.read_exact(&mut payload)?;
    Ok((frame::decode(&head).map_err(io::Error::other)?, payload))
}

impl Raw {
    /// A client whose only user is root.
    pub(super) fn connect(agent: &Agent) -> Raw {
        let (stream, reception) = greet(agent, &mount_purpose());
        assert!(matches!(reception, Reception::Welcome(_)), "{reception:?}");
        let mut raw = Raw { stream, next: 1 };
        let introduce = Call::Introduce { slot: 0, uid: 0, gid: 0, job: 0 };
        raw.send(&frame::encode_in_order(
            &Request { id: 0, slot: 0, once: None, call: introduce },
            0,
        ));
        raw
    }

    /// Send bytes, whatever they are.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        // The agent may have had enough before the last of them.
        let _ = self.stream.write_all(bytes);
    }

    pub(super) fn send_unanswered(&mut self, call: Call<'_>) {
        self.send(&frame::encode(&Request { id: 0, slot: 0, once: None, call }, 0, 0));
    }

    pub(super) fn ask(&mut self, call: Call<'_>) -> Result<Value, i32> {
        self.exchange(call, b"", 0).map(|(value, _)| value)
    }

    /// Ask for bytes, with so much room for them.
    pub(super) fn ask_for(&mut self, call: Call<'_>, room: usize) -> Result<(Value, Vec<u8>), i32> {
        self.exchange(call, b"", room)
    }

    /// Tell with bytes.
    pub(super) fn tell(&mut self, call: Call<'_>, payload: &[u8]) -> Result<Value, i32> {
        self.exchange(call, payload, 0).map(|(value, _)| value)
    }

    fn exchange(
        &mut self,
        call: Call<'_>,
        payload: &[u8],
        room: usize,
    ) -> Result<(Value, Vec<u8>), i32> {
        let id = self.next;
        self.next += 1;
        self.send(&frame::encode(&Request { id, slot: 0, once: None, call }, payload.len(), room));
        self.send(payload);
        let (answer, bytes): (Answer, _) = hear(&mut self.stream).unwrap();
        assert_eq!(answer.id, id);
        answer.result.map(|value| (value, bytes))
    }

    /// The node of a name.
    pub(super) fn lookup(&mut self, parent: NodeId, name: &[u8]) -> NodeId {
        match self.ask(Call::Lookup { parent, name }) {
            Ok(Value::Entry(entry)) => entry.attr.node,
            other => panic!("lookup: {other:?}"),
        }
    }

    /// Ask again and again without listening, until nobody takes it any more; how often it was taken.
    pub(super) fn flood(&mut self, call: &Call<'_>, room: usize, most: usize) -> usize {
        for sent in 0..most {
            let request =
                Request { id: 1000 + sent as u64, slot: 0, once: None, call: call.clone() };
            if self.stream.write_all(&frame::encode(&request, 0, room)).is_err() {
                return sent;
            }
        }
        most
    }

    /// Send one more byte; whether nobody takes it any more.
    pub(super) fn drip(&mut self) -> bool {
        self.stream.write_all(&[0]).is_err()
    }

    /// Whether the agent ends the connection.
    pub(super) fn is_cut_off(&mut self) -> bool {
        ends(&mut self.stream)
    }
}

/// How long to wait for anything.
const PATIENCE: Duration = Duration::from_secs(20);
