//! Which of several agents this one is.

use super::section::Section;

/// The place of an agent among those that share the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentPlace {
    /// Which one it is, from 0 on; `None`: whichever is free when it starts.
    pub index: Option<u32>,
    /// How many there are.
    pub count: u32,
}

impl Default for AgentPlace {
    /// The only one.
    fn default() -> AgentPlace {
        AgentPlace { index: Some(0), count: 1 }
    }
}

impl AgentPlace {
    pub(super) fn read(section: &Section<'_>) -> AgentPlace {
        section.refuse_unknown();
        let index = section.bounded("index").and_then(|index| index.try_into().ok());
        let count = section.number("count");
        // Of one there is nothing to be agreed.
        let index = index.or((count == 1).then_some(0));
        if let Some(index) = index.filter(|index| *index >= count) {
            let last = count - 1;
            let what = format!(
                "{index} is not the number of one of {count} agents: they are counted from 0 to {last}"
            );
            section.refuse("index", what);
        }
        AgentPlace { index, count }
    }
}
