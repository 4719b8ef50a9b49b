//! Which of several agents this one is.

use super::section::Section;

/// The place of an agent among those that share the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentPlace {
    /// Which one it is, from 0 on.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

impl Default for AgentPlace {
    /// The only one.
    fn default() -> AgentPlace {
        AgentPlace { index: 0, count: 1 }
    }
}

impl AgentPlace {
    pub(super) fn read(section: &Section<'_>) -> AgentPlace {
        section.refuse_unknown();
        let place = AgentPlace { index: section.number("index"), count: section.number("count") };
        if place.index >= place.count {
            let what = format!(
                "{} is not the number of one of {} agents: they are counted from 0 to {}",
                place.index,
                place.count,
                place.count - 1
            );
            section.refuse("index", what);
        }
        place
    }
}
