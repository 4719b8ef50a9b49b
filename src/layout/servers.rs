//! The numbers of data servers: each has a queue, and of queues there are not more than so many.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use iofwd_scheduler::request::ServerId;

use super::Server;

/// Numbers from 0 on in the order in which servers are first heard of. When they are used up, the
/// servers that come later share the queues of others: that may cost a window, never correctness.
#[derive(Debug)]
pub struct Servers {
    most: u32,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<Server, ServerId>,
    names: Vec<Server>,
}

impl Servers {
    /// No server is known yet; at least one, at most this many will have a queue of their own.
    pub fn new(most: u32) -> Servers {
        Servers { most: most.max(1), known: Mutex::default() }
    }

    /// These have the numbers from 0 on, so that all who have the same list agree. A server that is
    /// not among them shares the queue of one that is.
    pub fn fixed(servers: &[Server]) -> Servers {
        let fixed = Servers::new(servers.len() as u32);
        servers.iter().for_each(|server| {
            fixed.number(server);
        });
        fixed
    }

    /// The number of a server, a new one if it was not heard of yet.
    pub fn number(&self, server: &Server) -> ServerId {
        let mut known = self.lock();
        if let Some(number) = known.numbers.get(server) {
            return *number;
        }
        let next = known.names.len() as u32;
        if next >= self.most {
            return ServerId(shared(server, self.most));
        }
        known.numbers.insert(server.clone(), ServerId(next));
        known.names.push(server.clone());
        ServerId(next)
    }

    /// How many have a number of their own.
    pub fn count(&self) -> u32 {
        self.lock().names.len() as u32
    }

    /// The servers in the order of their numbers.
    pub fn names(&self) -> Vec<Server> {
        self.lock().names.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shared(server: &Server, most: u32) -> u32 {
    let mut hasher = DefaultHasher::new();
    server.hash(&mut hasher);
    (hasher.finish() % u64::from(most)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_stay() {
        let servers = Servers::new(8);
        assert_eq!(servers.number(&Server::Ost(700)), ServerId(0));
        assert_eq!(servers.number(&Server::Mdt), ServerId(1));
        assert_eq!(servers.number(&Server::Ost(700)), ServerId(0));
        assert_eq!(servers.names(), [Server::Ost(700), Server::Mdt]);
    }

    #[test]
    fn who_has_the_same_list_has_the_same_numbers() {
        let list = [Server::Ost(9), Server::Ost(3), Server::Mdt];
        let (one, other) = (Servers::fixed(&list), Servers::fixed(&list));
        let stranger = Server::Osd(1);
        assert_eq!(one.number(&stranger), other.number(&stranger));
        assert_eq!((one.number(&Server::Mdt), one.count()), (ServerId(2), 3));
        assert_eq!(other.number(&Server::Ost(9)), ServerId(0));
    }

    #[test]
    fn what_comes_too_late_shares_a_number_and_keeps_it() {
        let servers = Servers::new(4);
        for index in 0..1_000 {
            let number = servers.number(&Server::Ost(index));
            assert!(number.0 < 4);
            assert_eq!(servers.number(&Server::Ost(index)), number);
        }
        assert_eq!(servers.count(), 4);
    }
}
