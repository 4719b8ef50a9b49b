//! Changing a running agent: the policy, the window, the depth, without losing a request.

use iofwd_scheduler::time::Span;

use crate::quantity;
use crate::settings::Settings;

use super::engine::Tuning;
use super::service::{Service, engine_settings};

impl Service {
    /// Change what the words say: `policy=NAME`, `window=TIME`, `depth=COUNT`.
    pub(super) fn change(&self, words: &[&str]) -> Result<String, String> {
        let mut tuning = Tuning::default();
        for word in words {
            let (name, value) = word.split_once('=').ok_or_else(|| unknown(word))?;
            match name {
                "policy" => tuning.policy = Some(value.into()),
                "window" => tuning.window = Some(quantity::span(value)?),
                "gather" => {
                    let wrong = |_| format!("gather: '{value}' is neither true nor false");
                    tuning.gather = Some(value.parse().map_err(wrong)?);
                }
                "depth" => {
                    let wrong = |_| format!("depth: '{value}' is no number from 1 to 1024");
                    tuning.depth = Some(value.parse().map_err(wrong)?);
                }
                _ => return Err(unknown(word)),
            }
        }
        self.tune(&tuning)?;
        Ok(self.report().to_text())
    }

    /// Take over from other settings what can be changed while running. The rest is told.
    pub fn reload(&self, settings: &Settings) -> Result<Vec<&'static str>, String> {
        let wanted = engine_settings(settings);
        self.tune(&Tuning {
            policy: Some(wanted.policy),
            window: wanted.window,
            gather: Some(wanted.gather),
            depth: Some(wanted.depth),
        })?;
        Ok(self.settings.differences_that_need_a_restart(settings))
    }

    fn tune(&self, tuning: &Tuning) -> Result<(), String> {
        tuning.check()?;
        self.agents().try_for_each(|agent| agent.engine().tune(tuning))?;
        let window = tuning.window.map(Span::as_nanos);
        let Tuning { policy, gather, depth, .. } = tuning;
        tracing::info!(policy, window_ns = window, gather, depth, "changed");
        Ok(())
    }
}

fn unknown(word: &str) -> String {
    format!("'{word}' is none of policy=NAME, window=TIME, gather=true or false and depth=COUNT")
}
