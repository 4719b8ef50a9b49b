//! How an agent orders requests.

use iofwd_scheduler::policy;
use iofwd_scheduler::time::Span;

use super::nearest::nearest;
use super::section::Section;

/// The policy and what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerSettings {
    /// The policy, by name; there is one of this name.
    pub policy: String,
    /// The length of a window; `None` is the policy's default.
    pub window: Option<Span>,
    /// Within a window, wait for those that went with the last batch.
    pub gather: bool,
    /// Reads and writes under way at one server at a time.
    pub depth: u32,
    /// Treat every file as striped over so many servers; 1: the directory is one server.
    pub servers: u32,
    /// Bytes of a file on one server before the next one follows.
    pub stripe: u64,
}

impl SchedulerSettings {
    pub(super) fn read(section: &Section<'_>) -> SchedulerSettings {
        section.refuse_unknown();
        SchedulerSettings {
            policy: policy_name(section),
            window: section.bounded("window").map(Span::from_nanos),
            gather: section.flag("gather", false),
            depth: section.number("depth"),
            servers: section.number("servers"),
            stripe: section.number("stripe"),
        }
    }
}

fn policy_name(section: &Section<'_>) -> String {
    let name = section.text("policy").unwrap_or_else(|| POLICY.into());
    let known: Vec<&str> = policy::ALL.iter().map(|entry| entry.name).collect();
    if !known.contains(&name.as_str()) {
        let hint = nearest(&name, &known).map(|near| format!("did you mean {near}? "));
        let what = format!(
            "no policy '{name}': {}choose one of {}",
            hint.unwrap_or_default(),
            known.join(", ")
        );
        section.refuse("policy", what);
    }
    name
}

/// The policy unless told otherwise.
const POLICY: &str = "twins";
