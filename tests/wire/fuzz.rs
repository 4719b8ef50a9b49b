//! Bytes that nobody who keeps to the protocol sends: random ones, and messages with something
//! changed. `IOFWD_FUZZ` says how many, `IOFWD_SEED` where to begin.

use iofwd::wire::answer::{Answer, take_name};
use iofwd::wire::call::Request;
use iofwd::wire::frame::{self, HEAD_MOST, PREFIX, Prefix};
use iofwd::wire::greeting::{Enter, Hello, Reception};

use super::allocations::largest_during;
use super::samples;

/// A small generator; its numbers must only be all sorts.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit.max(1) as u64) as usize
    }

    /// Mostly the values at which something changes.
    fn byte(&mut self) -> u8 {
        match self.below(4) {
            0 => 0xff,
            1 => 0x80 | self.roll() as u8,
            2 => [0, 1, 0x7f, 0x80][self.below(4)],
            _ => self.roll() as u8,
        }
    }
}

fn messages() -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    messages.extend(samples::requests().iter().map(|(_, request)| frame::encode(request, 0, 0)));
    messages.extend(samples::answers().iter().map(|(_, answer)| frame::encode(answer, 0, 0)));
    messages.extend(samples::hellos().iter().map(|(_, hello)| frame::encode(hello, 0, 0)));
    messages.extend(samples::receptions().iter().map(|(_, said)| frame::encode(said, 0, 0)));
    messages.push(frame::encode(&samples::enter(), 0, 0));
    messages.push(samples::listed().append(samples::listed().append(vec![0; PREFIX])));
    messages
}

/// A message with something changed, or no message at all.
fn broken(dice: &mut Dice, messages: &[Vec<u8>], bytes: &mut Vec<u8>) {
    bytes.clear();
    if dice.below(8) == 0 {
        let length = dice.below(64);
        bytes.extend((0..length).map(|_| dice.byte()));
        return;
    }
    bytes.extend_from_slice(&messages[dice.below(messages.len())]);
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len());
        match dice.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, dice.byte()),
            2 => drop((!bytes.is_empty()).then(|| bytes.remove(at))),
            3 => {
                let other = &messages[dice.below(messages.len())];
                bytes.truncate(at);
                bytes.extend_from_slice(&other[dice.below(other.len())..]);
            }
            _ => {
                let byte = dice.byte();
                bytes.get_mut(at).into_iter().for_each(|place| *place = byte);
            }
        }
    }
}

/// Everything that could be made of the bytes.
fn read(bytes: &[u8]) -> usize {
    let mut understood = 0;
    if let Some(prefix) = bytes.first_chunk::<PREFIX>() {
        understood += usize::from(Prefix::from_bytes(prefix).is_ok());
    }
    let head = bytes.get(PREFIX..).unwrap_or(bytes);
    understood += usize::from(frame::decode::<Request<'_>>(head).is_ok());
    understood += usize::from(frame::decode::<Answer>(head).is_ok());
    if let Ok(hello) = frame::decode::<Hello>(head) {
        understood += 1 + usize::from(hello.check().is_ok()) + usize::from(hello.purpose().is_ok());
    }
    understood += usize::from(frame::decode::<Enter>(head).is_ok());
    understood += usize::from(frame::decode::<Reception>(head).is_ok());
    let mut rest = head;
    while let Ok(Some((_, next))) = take_name(rest) {
        assert!(next.len() < rest.len(), "a list of names must come to its end");
        rest = next;
    }
    understood
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn whatever_comes_is_understood_or_refused() {
    let (count, seed) = (number("IOFWD_FUZZ", 200_000), number("IOFWD_SEED", 1));
    println!("seed {seed}, {count} inputs");
    let (mut dice, messages, mut bytes) = (Dice(seed | 1), messages(), Vec::new());
    let mut understood = 0;
    for input in 0..count {
        broken(&mut dice, &messages, &mut bytes);
        let largest = largest_during(|| understood += read(&bytes));
        assert!(largest <= LARGEST, "input {input} of seed {seed} wants {largest} bytes at once");
    }
    // Otherwise nothing but the first byte of anything was ever looked at.
    assert!(understood as u64 > count / 10, "{understood} of {count} were understood");
}

/// No message needs more at once than the longest head there is, but for the most that a list is
/// given beforehand.
const LARGEST: usize = HEAD_MOST + (1 << 20);
