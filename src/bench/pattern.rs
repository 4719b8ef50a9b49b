//! Which bytes each process asks for, in which order: the access patterns of the literature.
//! Whatever the pattern, all processes together touch every byte of their files exactly once.

use super::permutation::Permutation;

/// How the requests of the processes lie in the file or files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Each process goes through a file of its own.
    FilePerProcess,
    /// One file; each process goes through a contiguous part of it.
    Contiguous,
    /// One file; the processes' requests lie side by side, round after round ("1D strided").
    Strided,
    /// One file; requests of all processes are strewn over it.
    Random,
    /// One file; every other request goes through a contiguous part, the rest is strewn.
    Mixed,
    /// One file, seen as a matrix dealt out to a grid of processes, cyclically in rows and in
    /// columns: a stride inside a stride (Nieuwejaar and Kotz).
    Nested,
}

impl Pattern {
    /// All of them, with the names that users type.
    pub const ALL: [(&'static str, Pattern); 6] = [
        ("file-per-process", Pattern::FilePerProcess),
        ("contiguous", Pattern::Contiguous),
        ("strided", Pattern::Strided),
        ("random", Pattern::Random),
        ("mixed", Pattern::Mixed),
        ("nested", Pattern::Nested),
    ];

    /// What the pattern is called.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, one)| *one == self).expect("the list has all patterns").0
    }
}

impl std::str::FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Pattern, String> {
        let names = Self::ALL.map(|(name, _)| name).join(", ");
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, one)| *one).ok_or_else(|| format!("no pattern '{text}': one of {names}"))
    }
}

/// One request: in which of the files, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// The file, counted within the application.
    pub file: u64,
    /// The first byte.
    pub offset: u64,
}

/// A pattern with its measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pattern: Pattern,
    processes: u64,
    rounds: u64,
    request: u64,
    order: Permutation,
    /// Processes in a row of the grid, and requests of a process in a row of the matrix.
    columns: u64,
    inner: u64,
}

impl Shape {
    /// So many processes that each issue `rounds` requests of `request` bytes; `seed` strews.
    pub fn new(pattern: Pattern, processes: u64, rounds: u64, request: u64, seed: u64) -> Shape {
        let strewn = if pattern == Pattern::Mixed { rounds / 2 } else { rounds };
        Shape {
            pattern,
            processes,
            rounds,
            request,
            order: Permutation::new(processes * strewn, seed),
            columns: processes / largest_divisor(processes),
            inner: rounds / largest_divisor(rounds),
        }
    }

    /// The pattern.
    pub const fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// How many processes there are.
    pub const fn processes(&self) -> u64 {
        self.processes
    }

    /// Requests of each process.
    pub const fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Bytes of a request.
    pub const fn request(&self) -> u64 {
        self.request
    }

    /// Bytes of all files together.
    pub const fn bytes(&self) -> u64 {
        self.processes * self.rounds * self.request
    }

    /// How many files there are.
    pub fn files(&self) -> u64 {
        if self.pattern == Pattern::FilePerProcess { self.processes } else { 1 }
    }

    /// The file that a process uses, counted within the application.
    pub fn file_of(&self, rank: u64) -> u64 {
        if self.pattern == Pattern::FilePerProcess { rank } else { 0 }
    }

    /// What a process asks for in a round.
    pub fn access(&self, rank: u64, round: u64) -> Access {
        let slot = match self.pattern {
            Pattern::FilePerProcess => round,
            Pattern::Contiguous => rank * self.rounds + round,
            Pattern::Strided => round * self.processes + rank,
            Pattern::Random => self.order.at(rank * self.rounds + round),
            Pattern::Mixed => self.mixed(rank, round),
            Pattern::Nested => self.nested(rank, round),
        };
        Access { file: self.file_of(rank), offset: slot * self.request }
    }

    /// Even rounds go through a part of the first half, odd ones are strewn over the second.
    fn mixed(&self, rank: u64, round: u64) -> u64 {
        let strewn = self.rounds / 2;
        let straight = self.rounds - strewn;
        if round.is_multiple_of(2) {
            rank * straight + round / 2
        } else {
            self.processes * straight + self.order.at(rank * strewn + round / 2)
        }
    }

    fn nested(&self, rank: u64, round: u64) -> u64 {
        let grid_rows = self.processes / self.columns;
        let (grid_row, grid_column) = (rank / self.columns, rank % self.columns);
        let row = round / self.inner * grid_rows + grid_row;
        let column = round % self.inner * self.columns + grid_column;
        row * self.columns * self.inner + column
    }
}

/// The largest divisor that is not above the square root: how near a grid comes to a square.
fn largest_divisor(number: u64) -> u64 {
    (1..=number.isqrt()).rev().find(|side| number.is_multiple_of(*side)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shape(pattern: Pattern, processes: u64, rounds: u64) -> Shape {
        Shape::new(pattern, processes, rounds, 10, 3)
    }

    fn offsets(pattern: Pattern, processes: u64, rounds: u64, rank: u64) -> Vec<u64> {
        let shape = shape(pattern, processes, rounds);
        (0..rounds).map(|round| shape.access(rank, round).offset).collect()
    }

    proptest! {
        #[test]
        fn every_pattern_covers_its_files_exactly_once(
            pattern in prop::sample::select(Pattern::ALL.to_vec()),
            processes in 1_u64..40,
            rounds in 1_u64..60,
            request in 1_u64..5_000,
            seed: u64,
        ) {
            let shape = Shape::new(pattern.1, processes, rounds, request, seed);
            let mut seen: Vec<Access> = (0..processes)
                .flat_map(|rank| (0..rounds).map(move |round| shape.access(rank, round)))
                .collect();
            seen.sort_unstable();
            let each = shape.bytes() / shape.files() / request;
            let all = (0..shape.files())
                .flat_map(|file| (0..each).map(move |n| Access { file, offset: n * request }));
            prop_assert!(seen.into_iter().eq(all));
        }
    }

    #[test]
    fn the_plain_ones_are_those_of_the_literature() {
        assert_eq!(offsets(Pattern::FilePerProcess, 3, 2, 1), [0, 10]);
        assert_eq!(offsets(Pattern::Contiguous, 3, 2, 1), [20, 30]);
        assert_eq!(offsets(Pattern::Strided, 3, 2, 1), [10, 40]);
    }

    #[test]
    fn a_nested_stride_has_two_steps() {
        // Four processes in a grid of two by two, each with two requests in each of two rows.
        assert_eq!(offsets(Pattern::Nested, 4, 4, 0), [0, 20, 80, 100]);
        assert_eq!(offsets(Pattern::Nested, 4, 4, 3), [50, 70, 130, 150]);
    }

    #[test]
    fn every_other_request_of_the_mixed_one_is_the_next() {
        let seen = offsets(Pattern::Mixed, 2, 6, 1);
        assert_eq!([seen[0], seen[2], seen[4]], [30, 40, 50]);
        assert!([seen[1], seen[3], seen[5]].iter().all(|offset| *offset >= 60));
    }

    #[test]
    fn names_lead_back_and_wrong_ones_name_the_right() {
        for (name, pattern) in Pattern::ALL {
            assert_eq!(name.parse(), Ok(pattern));
            assert_eq!(pattern.name(), name);
        }
        assert!("zigzag".parse::<Pattern>().unwrap_err().contains("strided"));
    }
}
