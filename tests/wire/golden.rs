//! Every message as the bytes it has in version 2. A change of `golden.txt` is a change of the
//! protocol, and needs a new version. `IOFWD_BLESS=1` in the environment rewrites it.

use std::fmt::Write as _;
use std::path::PathBuf;

use iofwd::wire::answer::{Listed, take_name};
use iofwd::wire::frame::{self, PREFIX};
use iofwd::wire::stripe;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{samples, stripes};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Table(String);

impl Table {
    fn line(&mut self, kind: &str, name: &str, bytes: &[u8]) {
        let _ = writeln!(self.0, "{kind} {name} {}", hex(bytes));
    }

    /// A message that survives the wire, as its bytes.
    fn add<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
        &mut self,
        kind: &str,
        name: &str,
        message: &T,
    ) {
        let bytes = frame::encode(message, 0, 0);
        assert_eq!(frame::decode::<T>(&bytes[PREFIX..]).as_ref(), Ok(message), "{kind} {name}");
        self.line(kind, name, &bytes);
    }
}

#[test]
fn every_message_is_what_it_always_was() {
    let mut table = Table(String::new());
    for (name, hello) in samples::hellos() {
        table.add("hello", name, &hello);
    }
    for (name, reception) in samples::receptions() {
        table.add("reception", name, &reception);
    }
    table.add("enter", "proof", &samples::enter());
    for (name, request) in samples::requests() {
        let bytes = frame::encode(&request, 4096, 512);
        assert_eq!(frame::decode(&bytes[PREFIX..]).as_ref(), Ok(&request), "{name}");
        table.line("call", name, &bytes);
    }
    for (name, answer) in samples::answers() {
        table.add("answer", name, &answer);
    }
    let listed = samples::listed().append(Vec::new());
    table.line("listed", "name", &listed);
    table.line("stripes", "file", &stripe::append(&stripes::stripes(), Vec::new()));
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire/golden.txt");
    if std::env::var_os("IOFWD_BLESS").is_some() {
        std::fs::write(&path, &table.0).expect("the sources can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(table.0, golden, "the protocol changed; see {}", path.display());
}

#[test]
fn names_of_a_directory_follow_each_other() {
    let listed = samples::listed();
    let plain = Listed { name: b"x", entry: None, ..listed };
    let bytes = plain.append(listed.append(Vec::new()));
    let (first, rest) = take_name(&bytes).expect("names").expect("two");
    assert_eq!(first, listed);
    let (second, rest) = take_name(rest).expect("names").expect("one more");
    assert_eq!(second, plain);
    assert_eq!(take_name(rest), Ok(None));
    assert!(take_name(&bytes[..bytes.len() - 1]).is_ok_and(|taken| taken.is_some()));
    assert!(take_name(&[0xff; 3]).is_err());
}
