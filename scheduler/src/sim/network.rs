//! The wires: how long a message takes, and who has to wait for whom.

use crate::time::{Span, Time};

/// Bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u64);

impl Rate {
    /// So fast that it takes no time.
    pub const INSTANT: Rate = Rate(u64::MAX);

    /// This many bytes a second; zero is taken as one, for nothing may take for ever.
    pub const fn per_second(bytes: u64) -> Rate {
        Rate(if bytes == 0 { 1 } else { bytes })
    }

    /// This many million bits a second.
    pub const fn megabits(megabits: u64) -> Rate {
        Rate::per_second(megabits * 125_000)
    }

    /// How long this many bytes take, rounded up.
    pub const fn time_of(self, bytes: u64) -> Span {
        if self.0 == u64::MAX {
            return Span::ZERO;
        }
        match bytes.checked_mul(NANOS) {
            Some(product) => Span::from_nanos(product.div_ceil(self.0)),
            None => {
                let nanos = (bytes as u128 * NANOS as u128).div_ceil(self.0 as u128);
                Span::from_nanos(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
            }
        }
    }
}

/// One kind of connection: between clients and agents, or between those and the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// What each end can take or give.
    pub rate: Rate,
    /// How long the first bit is on its way.
    pub latency: Span,
    /// What each message costs its ends beside its payload: headers, interrupts, system calls. An end
    /// handles one message at a time in each direction.
    pub message: Span,
}

impl Link {
    /// A connection that costs nothing.
    pub const FREE: Link = Link { rate: Rate::INSTANT, latency: Span::ZERO, message: Span::ZERO };

    /// Sends a message of `payload` bytes at `now`; says when it has arrived in full.
    ///
    /// Both ends are busy for its whole length, but at the same time: the receiver does not wait for the
    /// last byte before it takes the first. A port serves its messages in the order in which they were sent.
    pub(super) fn send(&self, now: Time, from: &mut Port, to: &mut Port, payload: u64) -> Time {
        let length = self.message + self.rate.time_of(payload);
        let depart = from.outward.max(now);
        from.outward = depart + length;
        let begin = to.inward.max(depart + self.latency);
        to.inward = begin + length;
        to.inward
    }
}

/// One node's end of its connections of one kind: until when it is busy, in each direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Port {
    outward: Time,
    inward: Time,
}

const NANOS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link {
        rate: Rate::per_second(1_000_000_000),
        latency: Span::from_nanos(50),
        message: Span::from_nanos(7),
    };

    #[test]
    fn rates_round_up_and_never_overflow() {
        assert_eq!(Rate::per_second(3).time_of(1), Span::from_nanos(333_333_334));
        assert_eq!(Rate::megabits(10_000).time_of(1250), Span::from_micros(1));
        assert_eq!(Rate::INSTANT.time_of(u64::MAX), Span::ZERO);
        assert_eq!(Rate::per_second(0).time_of(u64::MAX), Span::from_nanos(u64::MAX));
        assert_eq!(Rate::per_second(1 << 32).time_of(1 << 40), Span::from_secs(256));
    }

    #[test]
    fn a_lone_message_pays_latency_and_length_once() {
        let (mut a, mut b) = (Port::default(), Port::default());
        let arrived = LINK.send(Time::from_nanos(1000), &mut a, &mut b, 100);
        assert_eq!(arrived, Time::from_nanos(1000 + 50 + 7 + 100));
    }

    #[test]
    fn two_messages_share_the_port_they_have_in_common() {
        let (mut a, mut b, mut c) = (Port::default(), Port::default(), Port::default());
        let first = LINK.send(Time::ZERO, &mut a, &mut c, 100);
        let second = LINK.send(Time::ZERO, &mut b, &mut c, 100);
        assert_eq!((first, second), (Time::from_nanos(157), Time::from_nanos(264)));
        // The other direction of the same port is free.
        assert_eq!(LINK.send(Time::ZERO, &mut c, &mut a, 0), Time::from_nanos(57));
    }
}
