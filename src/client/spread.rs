//! Which of several agents a client turns to first, so that clients are spread over them.

use std::fmt;
use std::str::FromStr;

/// How the first agent is chosen from a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// By the client's name: nodes that are numbered in a row get agents in a row.
    #[default]
    Client,
    /// The one of this number, from 0 on.
    Number(usize),
    /// As by the client's name; but reads and writes of each file go to the agent that it has.
    File,
    /// The same for each stripe of a file.
    Stripe,
}

impl Spread {
    /// The order in which a client tries so many agents: the first by choice, then round the list.
    pub fn order(self, client: &str, agents: usize) -> impl Iterator<Item = usize> {
        let first = match self {
            Spread::Client | Spread::File | Spread::Stripe => {
                (number(client).unwrap_or_else(|| hash(client)) % agents.max(1) as u64) as usize
            }
            Spread::Number(number) => number,
        };
        (0..agents).map(move |step| (first + step) % agents)
    }
}

impl FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Spread, String> {
        match (text, text.parse()) {
            ("client", _) => Ok(Spread::Client),
            ("file", _) => Ok(Spread::File),
            ("stripe", _) => Ok(Spread::Stripe),
            (_, Ok(number)) if number < AGENTS_MOST => Ok(Spread::Number(number)),
            _ => Err(format!(
                "'{text}' chooses no agent: write client, file, stripe, or a number from 0 to {}",
                AGENTS_MOST - 1
            )),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spread::Client => f.write_str("client"),
            Spread::File => f.write_str("file"),
            Spread::Stripe => f.write_str("stripe"),
            Spread::Number(number) => write!(f, "{number}"),
        }
    }
}

/// The number that the name of a node ends with: of `node017.cluster:/mnt` it is 17. A hash would leave one
/// agent with twice the clients of another where the nodes are few.
fn number(client: &str) -> Option<u64> {
    let node = client.split([':', '.']).next().unwrap_or_default();
    let digits = node.len() - node.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    // The last digits of a long number are spread as well as all of them.
    node[node.len() - digits.min(18)..].parse().ok()
}

/// FNV-1a: the same on every node and in every version.
fn hash(client: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = client.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    hash ^ (hash >> 32)
}

/// More than any cluster has.
const AGENTS_MOST: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    fn first(client: &str, agents: usize) -> Option<usize> {
        Spread::Client.order(client, agents).next()
    }

    #[test]
    fn numbered_nodes_are_spread_evenly() {
        let mut clients = [0; 4];
        for node in 1..=64 {
            let client = format!("node{node:04}.cluster.example:/mnt");
            clients[first(&client, 4).expect("an agent")] += 1;
        }
        assert_eq!(clients, [16; 4]);
        assert_eq!(first("n17:/mnt/a2", 4), Some(1));
    }

    #[test]
    fn other_names_are_spread_by_chance_and_for_good() {
        let mut clients = [0; 4];
        for a in 'a'..='z' {
            for b in 'a'..='z' {
                clients[first(&format!("{a}{b}-host:/mnt"), 4).expect("an agent")] += 1;
            }
        }
        assert!(clients.iter().all(|count| (120..=220).contains(count)), "{clients:?}");
        assert_eq!(first("login:/mnt", 7), first("login:/mnt", 7));
    }

    #[test]
    fn every_agent_has_its_turn_once() {
        let order: Vec<usize> = Spread::Number(6).order("x", 4).collect();
        assert_eq!(order, [2, 3, 0, 1]);
        assert_eq!(Spread::Client.order("x", 0).count(), 0);
        let mut order: Vec<usize> =
            Spread::Client.order("node99999999999999999999999", 3).collect();
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2]);
    }

    #[test]
    fn what_is_shown_can_be_typed() {
        for text in ["client", "file", "stripe", "0", "17"] {
            assert_eq!(text.parse::<Spread>().map(|spread| spread.to_string()), Ok(text.into()));
        }
        assert!("first".parse::<Spread>().expect_err("no choice").contains("from 0 to 1023"));
        assert!("1024".parse::<Spread>().is_err());
    }
}
