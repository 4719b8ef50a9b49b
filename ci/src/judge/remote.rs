//! The same judges with client and agent apart, each on its own, over every transport.

use crate::program::Transport;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};

/// Judges over each transport; the failures of all are told together.
pub(crate) fn over_each_transport(
    site: &Site,
    judge: impl Fn() -> Result<String, String>,
) -> Verdict {
    let mut failures = Vec::new();
    let mut found = String::new();
    for transport in Transport::ALL {
        match site.through(transport, &judge) {
            Ok(note) => found = note,
            Err(why) => failures.push(format!("{}: {why}", transport.name())),
        }
    }
    if failures.is_empty() {
        let names = Transport::ALL.map(Transport::name).join(" and ");
        Ok(Outcome::Passed(format!("over {names}: {found}")))
    } else {
        Err(failures.join("\n"))
    }
}
