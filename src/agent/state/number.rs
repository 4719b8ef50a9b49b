//! The numbers of agents that share a directory: each holds its own locked, so that it is free again as
//! soon as the agent is gone, however that came.

use std::fs::File;
use std::io;

use nix::errno::Errno as Raw;
use nix::fcntl::{Flock, FlockArg};

use super::{State, private};

/// A number that is this agent's for as long as it lives.
#[derive(Debug)]
pub(in crate::agent) struct Number {
    pub(in crate::agent) number: u32,
    _held: Flock<File>,
}

impl State {
    /// The lowest number below `count` that no other agent of the directory has.
    pub(in crate::agent) fn free_number(&self, count: u32) -> io::Result<Option<Number>> {
        for number in 0..count {
            if let Some(taken) = self.take_number(number)? {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// This number, unless another agent of the directory has it.
    pub(in crate::agent) fn take_number(&self, number: u32) -> io::Result<Option<Number>> {
        let file = private(&self.directory.join(DIRECTORY).join(number.to_string()))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => Ok(Some(Number { number, _held: held })),
            Err((_, Raw::EWOULDBLOCK)) => Ok(None),
            Err((_, errno)) => Err(errno.into()),
        }
    }
}

pub(super) const DIRECTORY: &str = "numbers";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_another_number_until_it_is_gone() {
        let room = tempfile::tempdir().unwrap();
        let agents = [0, 1, 2].map(|_| State::open(room.path()).unwrap());
        let free = |agent: usize| agents[agent].free_number(2).unwrap();
        let (first, second) = (free(0).unwrap(), free(1).unwrap());
        assert_eq!((first.number, second.number), (0, 1));
        assert!(free(2).is_none(), "there are two");
        assert!(agents[2].take_number(0).unwrap().is_none());
        drop(first);
        assert_eq!(free(2).unwrap().number, 0);
    }
}
