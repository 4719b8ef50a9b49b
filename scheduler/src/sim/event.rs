//! The queue of things that will happen: earliest first, and among equals the one that was put in first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Time;

/// What happens, and to which process, agent or load (by index).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A process issues its next request.
    Issue(u32),
    /// A process's request reaches its agent.
    Arrive(u32),
    /// An agent asked to be woken.
    Wake(u32),
    /// The thread of an agent's policy looks at what changed.
    Look(u32),
    /// A thread of an agent takes the next list.
    Pick(u32),
    /// A load reaches its server.
    Reach(u32),
    /// The server's device has finished a load.
    Done(u32),
    /// The server's answer to a load reaches whoever sent it.
    Return(u32),
    /// The agent's answer reaches the process.
    Answer(u32),
}

/// Events in order of time.
///
/// One entry is one number, so that a comparison is one instruction or two: 64 bits of time, 36 of a
/// running number, 4 for the kind of event and 24 for the index. The running number may wrap after
/// 2^36 events: the order of events at the very same time would then differ, but still be the same in
/// every run.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<u128>>,
    pushed: u64,
}

impl Events {
    /// How many things an event can name.
    pub(super) const INDEX_MAX: usize = (1 << INDEX_BITS) - 1;

    pub(super) fn push(&mut self, at: Time, event: Event) {
        let (kind, index) = encode(event);
        debug_assert!(index as usize <= Events::INDEX_MAX);
        let number = self.pushed & NUMBER_MASK;
        self.pushed += 1;
        let low = number << (KIND_BITS + INDEX_BITS) | kind << INDEX_BITS | u64::from(index);
        self.heap.push(Reverse(u128::from(at.as_nanos()) << 64 | u128::from(low)));
    }

    pub(super) fn pop(&mut self) -> Option<(Time, Event)> {
        let Reverse(entry) = self.heap.pop()?;
        let low = entry as u64;
        let index = (low & Events::INDEX_MAX as u64) as u32;
        let event = decode(low >> INDEX_BITS & KIND_MASK, index);
        Some((Time::from_nanos((entry >> 64) as u64), event))
    }

    /// How many events there have been.
    pub(super) const fn count(&self) -> u64 {
        self.pushed
    }
}

const fn encode(event: Event) -> (u64, u32) {
    match event {
        Event::Issue(index) => (0, index),
        Event::Arrive(index) => (1, index),
        Event::Wake(index) => (2, index),
        Event::Reach(index) => (3, index),
        Event::Done(index) => (4, index),
        Event::Return(index) => (5, index),
        Event::Answer(index) => (6, index),
        Event::Look(index) => (7, index),
        Event::Pick(index) => (8, index),
    }
}

const fn decode(kind: u64, index: u32) -> Event {
    match kind {
        0 => Event::Issue(index),
        1 => Event::Arrive(index),
        2 => Event::Wake(index),
        3 => Event::Reach(index),
        4 => Event::Done(index),
        5 => Event::Return(index),
        7 => Event::Look(index),
        8 => Event::Pick(index),
        _ => Event::Answer(index),
    }
}

const INDEX_BITS: u32 = 24;
const KIND_BITS: u32 = 4;
const KIND_MASK: u64 = (1 << KIND_BITS) - 1;
const NUMBER_MASK: u64 = (1 << 36) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_back_as_they_went_in_and_in_order() {
        let all = [
            Event::Issue(0),
            Event::Arrive(1),
            Event::Wake(Events::INDEX_MAX as u32),
            Event::Reach(3),
            Event::Done(4),
            Event::Return(5),
            Event::Answer(6),
            Event::Look(7),
            Event::Pick(8),
        ];
        let mut events = Events::default();
        for event in all {
            events.push(Time::from_nanos(9), event);
        }
        events.push(Time::NEVER, Event::Issue(1));
        events.push(Time::ZERO, Event::Issue(2));
        assert_eq!(events.pop(), Some((Time::ZERO, Event::Issue(2))));
        for event in all {
            assert_eq!(events.pop(), Some((Time::from_nanos(9), event)));
        }
        assert_eq!(events.pop(), Some((Time::NEVER, Event::Issue(1))));
        assert_eq!(events.pop(), None);
    }
}
