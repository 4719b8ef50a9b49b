//! What an agent tells somebody who asks for a file's layout.

use serde::{Deserialize, Serialize};

use super::{Description, Server};

/// A layout, and what it cost to know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Where the bytes are.
    pub description: Description,
    /// Nanoseconds that asking the file system took.
    pub cost: u64,
    /// The servers that have queues, by the number of their queue; none where there is no agent.
    pub queues: Vec<Server>,
}

impl Told {
    /// As a text that [`Told::from_text`] reads.
    pub fn to_text(&self) -> String {
        // Nothing in it can fail to be written: no map, no number that JSON does not have.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What [`Told::to_text`] wrote; nothing if it is something else.
    pub fn from_text(text: &str) -> Option<Told> {
        serde_json::from_str(text).ok()
    }
}
