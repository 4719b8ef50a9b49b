//! Where the data lie: the engines an agent forwards to, and what a data server keeps.

pub mod objects;
pub mod posix;
