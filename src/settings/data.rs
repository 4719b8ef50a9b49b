//! How data go to a backing: through the cache of the agent's node, or around it.

use std::fmt;
use std::str::FromStr;

/// The way of reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataPath {
    /// Around the cache where the file system has data servers: when they see a request is then for
    /// the scheduler to decide, not for the cache.
    #[default]
    Auto,
    /// Around the cache wherever that can be.
    Direct,
    /// Through the cache.
    Buffered,
}

impl FromStr for DataPath {
    type Err = String;

    fn from_str(text: &str) -> Result<DataPath, String> {
        match text {
            "auto" => Ok(DataPath::Auto),
            "direct" => Ok(DataPath::Direct),
            "buffered" => Ok(DataPath::Buffered),
            _ => Err(format!("'{text}' is none of auto, direct and buffered")),
        }
    }
}

impl fmt::Display for DataPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataPath::Auto => "auto",
            DataPath::Direct => "direct",
            DataPath::Buffered => "buffered",
        })
    }
}
