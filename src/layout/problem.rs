//! What can be wrong with what a file system says about a layout.

use std::fmt;

use iofwd_scheduler::layout::LayoutError;

/// Why a layout cannot be read. The file is then treated as one server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It ends before what is said to be there.
    Short {
        /// Bytes that would have to be there.
        need: u64,
        /// Bytes that are.
        have: u64,
    },
    /// There is more of it than any file system has to say.
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// How much of it.
        found: u64,
        /// The most that is read.
        most: u64,
    },
    /// It begins with a number that stands for no layout of a file.
    Magic(u32),
    /// A part of it is not what it should be.
    Unexpected {
        /// The part.
        what: &'static str,
        /// What it is.
        found: String,
    },
    /// It can be read, but makes no sense.
    Senseless(LayoutError),
}

impl Problem {
    /// A part is not what it should be.
    pub(super) fn unexpected(what: &'static str, found: impl ToString) -> Problem {
        let found = found.to_string().chars().take(SHOWN_MOST).collect();
        Problem::Unexpected { what, found }
    }

    /// Refuse more than this much of something.
    pub(super) fn unless_at_most(
        what: &'static str,
        found: usize,
        most: usize,
    ) -> Result<(), Problem> {
        if found <= most {
            return Ok(());
        }
        Err(Problem::TooMuch { what, found: found as u64, most: most as u64 })
    }
}

impl From<LayoutError> for Problem {
    fn from(error: LayoutError) -> Problem {
        Problem::Senseless(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Short { need, have } => {
                write!(f, "the layout ends after {have} bytes, though {need} belong to it")
            }
            Problem::TooMuch { what, found, most } => {
                write!(f, "the layout has {found} {what}; no more than {most} are read")
            }
            Problem::Magic(magic) => write!(f, "{magic:#010x} begins no layout of a file"),
            Problem::Unexpected { what, found } => write!(f, "the layout's {what} is '{found}'"),
            Problem::Senseless(error) => write!(f, "the layout makes no sense: {error}"),
        }
    }
}

impl std::error::Error for Problem {}

/// Characters of somebody else's text in a message.
const SHOWN_MOST: usize = 64;
