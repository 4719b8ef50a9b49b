//! What can be done to an agent, a data server or a link, and undone after a while.

use std::time::Duration;

use nix::sys::signal::Signal;

use super::dice::Dice;
use super::scene::Scene;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deed {
    Kill,
    KillAll,
    Restart,
    Stop,
    Cut,
}

/// To whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Victim {
    Client(usize),
    Agent(usize),
    Server(usize),
}

/// Both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fault {
    deed: Deed,
    victim: Victim,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whom = match self.victim {
            Victim::Client(_) => "client",
            Victim::Agent(_) => "agent",
            Victim::Server(0) => "names",
            Victim::Server(_) => "server",
        };
        write!(f, "{:?} {whom}", self.deed)
    }
}

impl Fault {
    /// One of all that there are.
    pub(super) fn any(scene: &Scene, dice: &mut Dice) -> Fault {
        let servers = scene.servers.as_ref().map_or(0, |servers| servers.len());
        // As many for all servers as for both agents; the one with the names is hit as often as the
        // others together.
        let victim = match dice.below(if servers == 0 { 5 } else { 9 }) {
            0 => Victim::Client(dice.below(2)),
            1..=4 => Victim::Agent(dice.below(2)),
            5 | 6 => Victim::Server(0),
            _ => Victim::Server(dice.below(servers)),
        };
        let deed = match victim {
            Victim::Client(_) => Deed::Cut,
            Victim::Agent(_) | Victim::Server(_) => DEEDS[dice.below(DEEDS.len())],
        };
        Fault { deed, victim }
    }

    /// Whether both can be there at the same time.
    pub(super) fn can_join(self, other: Fault) -> bool {
        let kind = |fault: Fault| std::mem::discriminant(&fault.victim);
        let is_all = |fault: Fault| fault.deed == Deed::KillAll;
        let same = kind(self) == kind(other);
        // Whoever is to end in order needs the others for that.
        let is_order = |fault: Fault| fault.deed == Deed::Restart;
        let is_apart = self.victim != other.victim && !(same && (is_all(self) || is_all(other)));
        is_apart && !is_order(self) && !is_order(other)
    }

    /// Whom it hits.
    fn victims(self, scene: &Scene) -> Vec<Victim> {
        match (self.deed, self.victim) {
            (Deed::KillAll, Victim::Agent(_)) => vec![Victim::Agent(0), Victim::Agent(1)],
            (Deed::KillAll, Victim::Server(_)) => {
                let count = scene.servers.as_ref().map_or(0, |servers| servers.len());
                (0..count).map(Victim::Server).collect()
            }
            (_, victim) => vec![victim],
        }
    }

    pub(super) fn inflict(self, scene: &mut Scene) {
        for victim in self.victims(scene) {
            match self.deed {
                Deed::Kill | Deed::KillAll => victim.kill(scene),
                Deed::Restart => victim.end(scene),
                Deed::Stop => victim.signal(scene, Signal::SIGSTOP),
                Deed::Cut => scene.network.cut(victim.node(scene)),
            }
        }
    }

    pub(super) fn undo(self, scene: &mut Scene) {
        for victim in self.victims(scene) {
            match self.deed {
                Deed::Kill | Deed::KillAll | Deed::Restart => victim.start_again(scene),
                Deed::Stop => victim.signal(scene, Signal::SIGCONT),
                Deed::Cut => scene.network.mend(victim.node(scene)),
            }
        }
    }

    /// Whether it is undone last: an agent that starts needs its servers.
    pub(super) fn is_last(self) -> bool {
        let starts = matches!(self.deed, Deed::Kill | Deed::KillAll | Deed::Restart);
        starts && matches!(self.victim, Victim::Agent(_))
    }

    /// How long it lasts. Long enough, now and then, for others to give its victim up.
    pub(super) fn time(self, dice: &mut Dice) -> Duration {
        let time = Duration::from_millis(dice.below(1500) as u64);
        match self.deed {
            Deed::Kill | Deed::KillAll => time,
            Deed::Restart => Duration::ZERO,
            Deed::Stop | Deed::Cut => time * 4,
        }
    }
}

impl Victim {
    fn node(self, scene: &Scene) -> usize {
        match self {
            Victim::Client(which) => which,
            Victim::Agent(which) => Scene::agent_node(which),
            Victim::Server(which) => scene.servers.as_ref().expect("there are some").node(which),
        }
    }

    fn kill(self, scene: &mut Scene) {
        match self {
            Victim::Client(_) => unreachable!("clients are only cut off"),
            Victim::Agent(which) => scene.agents[which].kill(),
            Victim::Server(which) => scene.servers.as_mut().expect("there are some").kill(which),
        }
    }

    fn end(self, scene: &mut Scene) {
        match self {
            Victim::Client(_) => unreachable!("clients are only cut off"),
            Victim::Agent(which) => scene.agents[which].end(),
            Victim::Server(which) => scene.servers.as_mut().expect("there are some").end(which),
        }
    }

    fn signal(self, scene: &mut Scene, signal: Signal) {
        match self {
            Victim::Client(_) => unreachable!("clients are only cut off"),
            Victim::Agent(which) => scene.agents[which].signal(signal),
            Victim::Server(which) => {
                scene.servers.as_mut().expect("there are some").signal(which, signal);
            }
        }
    }

    fn start_again(self, scene: &mut Scene) {
        match self {
            Victim::Client(_) => unreachable!("clients are only cut off"),
            Victim::Agent(which) => scene.agents[which].start_again(),
            Victim::Server(which) => scene.servers.as_mut().expect("there are some").restart(which),
        }
    }
}

const DEEDS: [Deed; 5] = [Deed::Kill, Deed::KillAll, Deed::Restart, Deed::Stop, Deed::Cut];
