//! A straight line through what a server has shown: how long it takes before any byte moves, and then for
//! each byte. A disk that has to get to a place first does not do half of a request in half of the time.

use crate::time::Span;

/// Fading sums over what came back first after idle moments, in units of 512 bytes and of 1,024
/// nanoseconds, so that their products fit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    count: i64,
    sizes: i64,
    times: i64,
    squares: i64,
    products: i64,
    fixed: Span,
}

impl Line {
    /// So many bytes took so long.
    pub(super) fn add(&mut self, bytes: u64, busy: Span) {
        let size = (bytes >> 9).clamp(1, SIZE_MOST) as i64;
        let time = (busy.as_nanos() >> 10).min(TIME_MOST) as i64;
        let add = |sum: i64, value: i64| sum - sum / WEIGHT + value * SCALE;
        self.count = add(self.count, 1);
        self.sizes = add(self.sizes, size);
        self.times = add(self.times, time);
        self.squares = add(self.squares, size * size);
        self.products = add(self.products, size * time);
    }

    /// Draws the line anew. Where all were of about the same size no line can be told from another, and
    /// the one before stays.
    pub(super) fn fit(&mut self) {
        let spread = self.count * self.squares - self.sizes * self.sizes;
        let slope = self.count * self.products - self.sizes * self.times;
        if slope < 0 || spread <= self.sizes / NARROW * self.sizes {
            return;
        }
        let [count, sizes, times, spread, slope] =
            [self.count, self.sizes, self.times, spread, slope].map(i128::from);
        let start = (times * spread - slope * sizes) / (spread * count).max(1);
        self.fixed = Span::from_nanos(u64::try_from(start).unwrap_or(0) << 10);
    }

    /// How long it takes before any byte moves; zero as long as that is not known.
    pub(super) const fn fixed(&self) -> Span {
        self.fixed
    }
}

/// 32 MiB and one second: the products of all sums stay below 2^63.
const SIZE_MOST: u64 = 1 << 16;
const TIME_MOST: u64 = 1 << 20;
/// One that comes back counts for a sixteenth.
const WEIGHT: i64 = 16;
/// Keeps what a division by [`WEIGHT`] would cut off.
const SCALE: i64 = 256;
/// Sizes that differ by less than an eighth of their mean are about the same.
const NARROW: i64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(samples: &[(u64, u64)]) -> Span {
        let mut line = Line::default();
        for (kib, micros) in samples.iter().cycle().take(100) {
            line.add(kib << 10, Span::from_micros(*micros));
            line.fit();
        }
        line.fixed()
    }

    fn assert_close(found: Span, micros: u64) {
        let found = found.as_nanos() / 1_000;
        assert!(found.abs_diff(micros) * 20 <= micros.max(20), "{found} us, not {micros}");
    }

    #[test]
    fn what_is_paid_once_is_told_from_what_is_paid_by_the_byte() {
        assert_close(shown(&[(32, 5_200), (128, 5_800), (64, 5_400)]), 5_000);
        assert_close(shown(&[(32, 100), (64, 200), (128, 400)]), 0);
        assert_close(shown(&[(32, 300), (32, 300), (128, 300)]), 300);
    }

    #[test]
    fn where_all_are_alike_nothing_is_known() {
        assert_eq!(shown(&[(32, 5_000)]), Span::ZERO);
        assert_eq!(shown(&[(32, 5_000), (33, 4_000)]), Span::ZERO);
        assert_eq!(shown(&[(32, 5_000), (128, 1_000)]), Span::ZERO, "more in less time");
    }

    #[test]
    fn what_was_known_stays_when_all_become_alike() {
        let mut line = Line::default();
        for _ in 0..50 {
            line.add(32 << 10, Span::from_micros(5_200));
            line.add(128 << 10, Span::from_micros(5_800));
            line.fit();
        }
        for _ in 0..500 {
            line.add(128 << 10, Span::from_micros(5_800));
            line.fit();
        }
        assert_close(line.fixed(), 5_000);
    }

    #[test]
    fn the_largest_and_the_smallest_do_not_overflow() {
        let mut line = Line::default();
        for _ in 0..1_000 {
            line.add(u64::MAX, Span::from_nanos(u64::MAX));
            line.add(0, Span::ZERO);
            line.fit();
        }
        assert!(line.fixed() < Span::from_secs(1));
    }
}
