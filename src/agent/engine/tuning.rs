//! Changing an engine while it runs.

use iofwd_scheduler::policy::{Directive, Policy, Setup};
use iofwd_scheduler::room::Limit;
use iofwd_scheduler::scheduler::Config;
use iofwd_scheduler::time::Span;

use super::{Engine, settings};

/// What is to be changed; the rest stays.
#[derive(Clone, Debug, Default)]
pub struct Tuning {
    /// The policy, by name.
    pub policy: Option<String>,
    /// The length of a window.
    pub window: Option<Span>,
    /// Whether requests wait within a window for those that went with the last batch.
    pub gather: Option<bool>,
    /// Requests under way at one server at a time.
    pub depth: Option<u32>,
}

impl Tuning {
    /// Whether it can be done; if not, what is wrong.
    pub fn check(&self) -> Result<(), String> {
        if let Some(name) = &self.policy {
            settings::policy(name, &Setup::new(1))?;
        }
        match self.depth {
            Some(depth) if !(1..=DEPTH_MOST).contains(&depth) => {
                Err(format!("depth {depth} is not between 1 and {DEPTH_MOST}"))
            }
            _ => Ok(()),
        }
    }
}

impl Engine {
    /// Change it. What is queued goes on under the new terms; nothing is lost.
    pub fn tune(&self, tuning: &Tuning) -> Result<(), String> {
        tuning.check()?;
        let mut state = self.core.lock();
        let now = self.core.clock.now();
        let setup = *state.scheduler.scheduler().setup();
        if let Some(depth) = tuning.depth {
            let each = Config::new(setup).each;
            state.scheduler.bound_each(Limit::new(depth, each.bytes));
        }
        if let Some(name) = &tuning.policy
            && name != state.scheduler.scheduler().policy().name()
        {
            let policy: Box<dyn Policy> = settings::policy(name, &setup)?;
            state.scheduler.switch(now, policy)?;
        }
        if let Some(window) = tuning.window {
            state.scheduler.direct(now, Directive::Window(window));
        }
        if let Some(gather) = tuning.gather {
            state.scheduler.direct(now, Directive::Gather(gather));
        }
        let tasks = self.core.poll(&mut state, now);
        drop(state);
        self.core.workers.push(tasks);
        Ok(())
    }
}

const DEPTH_MOST: u32 = 1024;
