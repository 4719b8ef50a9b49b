//! Room at the agent: who may have how much of what a connection was granted, and who waits for it.
//!
//! One server that cannot keep up would soon have all of it, and whoever uses another server, or only
//! looks at names, would wait as long as those who write to that one. So what goes to one server has no
//! more of the room than is left for all others, and everything leaves some to what costs next to nothing.

use std::collections::{BTreeMap, VecDeque};

/// For what room is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    /// No bytes of files.
    Little,
    /// Bytes of a file.
    Data(Place),
}

/// Where bytes of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Nobody has asked yet.
    Unknown,
    /// On several servers.
    Several,
    /// On this one.
    Server(u32),
}

/// The room of one connection, and the calls that wait for some of it.
#[derive(Debug)]
pub(super) struct Room<T> {
    /// The cost of calls that may be under way,
    grant: usize,
    /// and of those that are.
    used: usize,
    parts: BTreeMap<Purpose, Part<T>>,
}

/// What goes to the same place.
#[derive(Debug)]
struct Part<T> {
    used: usize,
    waiting: VecDeque<Waiting<T>>,
}

#[derive(Debug)]
struct Waiting<T> {
    cost: usize,
    call: T,
}

impl<T> Default for Part<T> {
    fn default() -> Part<T> {
        Part { used: 0, waiting: VecDeque::new() }
    }
}

impl<T> Default for Room<T> {
    fn default() -> Room<T> {
        Room { grant: 0, used: 0, parts: BTreeMap::new() }
    }
}

impl<T> Room<T> {
    pub(super) fn set_grant(&mut self, grant: usize) {
        self.grant = grant;
    }

    /// Whether a call may go at once; those that wait to go to the same place go first.
    pub(super) fn has_room(&self, purpose: Purpose, cost: usize) -> bool {
        let part = self.parts.get(&purpose);
        part.is_none_or(|part| part.waiting.is_empty())
            && self.can_take(purpose, part.map_or(0, |part| part.used), cost)
    }

    fn can_take(&self, purpose: Purpose, own: usize, cost: usize) -> bool {
        match purpose {
            _ if self.used == 0 => true,
            Purpose::Little => self.used + cost <= self.grant,
            // Before the rest is given away it must be known to whom.
            Purpose::Data(Place::Unknown) => self.used + cost <= self.grant / 2,
            Purpose::Data(Place::Several | Place::Server(_)) => {
                let left = (self.grant - self.grant / LITTLE).saturating_sub(self.used);
                cost <= left && (own == 0 || own + cost <= left)
            }
        }
    }

    /// A call has gone.
    pub(super) fn take(&mut self, purpose: Purpose, cost: usize) {
        self.used += cost;
        self.parts.entry(purpose).or_default().used += cost;
    }

    /// It is answered, or given up.
    pub(super) fn give_back(&mut self, purpose: Purpose, cost: usize) {
        self.used -= cost;
        if let Some(part) = self.parts.get_mut(&purpose) {
            part.used -= cost;
            if part.used == 0 && part.waiting.is_empty() {
                self.parts.remove(&purpose);
            }
        }
    }

    /// A call waits.
    pub(super) fn wait(&mut self, purpose: Purpose, cost: usize, call: T) {
        self.parts.entry(purpose).or_default().waiting.push_back(Waiting { cost, call });
    }

    /// The next that may go, and has from now on what it costs: what costs next to nothing first, then
    /// whose place has least.
    pub(super) fn next(&mut self) -> Option<(Purpose, T)> {
        let first = |(purpose, part): (&Purpose, &Part<T>)| {
            let cost = part.waiting.front()?.cost;
            self.can_take(*purpose, part.used, cost).then_some((*purpose, part.used))
        };
        let those = self.parts.iter().filter_map(first);
        let (purpose, _) =
            those.min_by_key(|(purpose, used)| (*purpose != Purpose::Little, *used))?;
        let Waiting { cost, call } = self.parts.get_mut(&purpose)?.waiting.pop_front()?;
        self.take(purpose, cost);
        Some((purpose, call))
    }

    /// Those whose place was not known wait where they belong, as far as it is known by now.
    pub(super) fn sort(&mut self, look: impl Fn(&T) -> Purpose) {
        let unknown = self.parts.get_mut(&Purpose::Data(Place::Unknown));
        let waiting = unknown.map(|part| std::mem::take(&mut part.waiting)).unwrap_or_default();
        for Waiting { cost, call } in waiting {
            self.wait(look(&call), cost, call);
        }
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.parts.values().map(|part| part.waiting.len()).sum()
    }

    /// Those that wait.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.parts.values_mut().flat_map(|part| part.waiting.iter_mut().map(|one| &mut one.call))
    }

    /// Those that wait no more.
    pub(super) fn remove(&mut self, which: impl Fn(&T) -> bool) -> Vec<T> {
        let mut gone = Vec::new();
        for part in self.parts.values_mut() {
            let (leave, stay): (VecDeque<_>, VecDeque<_>) =
                std::mem::take(&mut part.waiting).into_iter().partition(|one| which(&one.call));
            part.waiting = stay;
            gone.extend(leave.into_iter().map(|one| one.call));
        }
        self.parts.retain(|_, part| part.used > 0 || !part.waiting.is_empty());
        gone
    }
}

/// One part of so many is left to what costs next to nothing.
const LITTLE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: Purpose = Purpose::Data(Place::Unknown);

    fn server(number: u32) -> Purpose {
        Purpose::Data(Place::Server(number))
    }

    /// Calls that wait are numbers, and cost one each.
    fn room(grant: usize) -> Room<u32> {
        let mut room = Room::default();
        room.set_grant(grant);
        room
    }

    /// So many for a place as there is room for.
    fn fill(room: &mut Room<u32>, purpose: Purpose) -> usize {
        let mut count = 0;
        while room.has_room(purpose, 1) {
            room.take(purpose, 1);
            count += 1;
        }
        count
    }

    #[test]
    fn no_server_has_more_than_it_leaves_to_others() {
        let mut room = room(64);
        assert_eq!(fill(&mut room, server(1)), 30);
        assert_eq!(fill(&mut room, server(2)), 15);
        assert_eq!(fill(&mut room, server(1)), 0);
        assert!(room.has_room(server(3), 15), "there is some for another");
        room.give_back(server(2), 15);
        assert!(room.has_room(server(3), 30) && !room.has_room(server(3), 31));
    }

    #[test]
    fn who_may_use_any_server_has_half_and_no_more_when_that_becomes_known() {
        let mut room = room(64);
        assert_eq!(fill(&mut room, UNKNOWN), 32);
        room.give_back(UNKNOWN, 32);
        room.take(server(1), 32);
        assert_eq!([UNKNOWN, server(1)].map(|purpose| fill(&mut room, purpose)), [0, 0]);
        assert!(room.has_room(server(2), 1));
    }

    #[test]
    fn what_costs_next_to_nothing_has_room_when_servers_have_none() {
        let mut room = room(32);
        for number in 0..40 {
            fill(&mut room, server(number));
        }
        assert_eq!(fill(&mut room, server(41)), 0);
        assert_eq!(fill(&mut room, Purpose::Little), 2);
    }

    #[test]
    fn whoever_is_alone_goes_whatever_it_costs() {
        for purpose in [Purpose::Little, UNKNOWN, server(0)] {
            assert!(room(4).has_room(purpose, 100));
        }
    }

    #[test]
    fn those_who_wait_go_in_order_and_nobody_waits_for_another_place() {
        let mut room = room(16);
        let count = fill(&mut room, server(1)) as u32;
        for number in 0..2 {
            room.wait(server(1), 1, number);
        }
        assert!(!room.has_room(server(1), 1) && room.has_room(server(2), 1));
        assert_eq!(room.next(), None);
        room.give_back(server(1), 1);
        assert!(!room.has_room(server(1), 1), "not before those who wait");
        assert_eq!(room.next(), Some((server(1), 0)));
        assert_eq!(room.next(), None);
        (0..count).for_each(|_| room.give_back(server(1), 1));
        assert_eq!((room.next(), room.waiting()), (Some((server(1), 1)), 0));
    }

    #[test]
    fn who_has_least_goes_first_and_what_costs_nothing_before() {
        let mut room = room(64);
        for (purpose, used) in [(server(1), 20), (server(2), 10), (server(3), 34)] {
            room.take(purpose, used);
        }
        for (number, purpose) in [server(1), server(2), Purpose::Little].into_iter().enumerate() {
            room.wait(purpose, 1, number as u32);
        }
        assert_eq!(room.next(), None);
        room.give_back(server(3), 34);
        assert_eq!(room.next(), Some((Purpose::Little, 2)));
        assert_eq!(room.next(), Some((server(2), 1)));
        assert_eq!(room.next(), Some((server(1), 0)));
    }

    #[test]
    fn those_whose_place_becomes_known_wait_there_in_their_order() {
        let mut room = room(16);
        fill(&mut room, UNKNOWN);
        (0..4).for_each(|number| room.wait(UNKNOWN, 1, number));
        room.sort(|number| if *number == 2 { UNKNOWN } else { server(1) });
        assert_eq!(room.next(), Some((server(1), 0)));
        assert_eq!(room.next(), Some((server(1), 1)));
        assert_eq!(room.remove(|number| *number == 2), [2]);
        assert_eq!((room.waiting(), room.iter_mut().next()), (1, Some(&mut 3)));
    }
}
