//! Rules of the settings for files whose file system says nothing about their layout.

use super::{Description, Engine, Pattern, Server, Shape, Stripes};

/// How files whose path fits a pattern are dealt out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The files that are meant.
    pub pattern: Pattern,
    /// Bytes on one server before the next one follows; not zero.
    pub stripe: u64,
    /// Over how many servers; at least one.
    pub servers: u32,
    /// The server that a file begins on.
    pub first: First,
}

/// The server that a file begins on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// One that its inode number chooses.
    Hash,
    /// This one.
    Server(u32),
}

impl Rule {
    /// The layout of the file with this inode number.
    pub fn describe(&self, inode: u64) -> Description {
        let count = self.servers.max(1);
        let first = match self.first {
            First::Hash => (scatter(inode) % u64::from(count)) as u32,
            First::Server(first) => first % count,
        };
        let servers = (0..count).map(|turn| Server::Numbered((first + turn) % count)).collect();
        let shape = Shape::Stripes(Stripes { unit: self.stripe.max(1), servers });
        Description { engine: Engine::Rule, generation: 0, shape }
    }
}

/// Neighbouring numbers become numbers that have nothing to do with each other; the same at every
/// agent, so that all of them mean the same server.
fn scatter(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(first: First) -> Rule {
        let pattern = Pattern::parse("*").expect("a pattern");
        Rule { pattern, stripe: 4096, servers: 4, first }
    }

    fn order(description: &Description) -> Vec<String> {
        let Shape::Stripes(stripes) = &description.shape else { panic!("{description:?}") };
        stripes.servers.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn servers_take_turns_from_the_first_on() {
        let description = rule(First::Server(2)).describe(17);
        assert_eq!(order(&description), ["server:2", "server:3", "server:0", "server:1"]);
    }

    #[test]
    fn files_are_scattered_over_all_servers() {
        let mut begun = [0; 4];
        for inode in 0..400 {
            let first = order(&rule(First::Hash).describe(inode))[0].clone();
            begun[first["server:".len()..].parse::<usize>().expect("a number")] += 1;
        }
        assert!(begun.iter().all(|count| (60..140).contains(count)), "{begun:?}");
    }
}
