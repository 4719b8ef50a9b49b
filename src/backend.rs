//! Where the data lie: the engines an agent forwards to.

pub mod posix;
