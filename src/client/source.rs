//! What a client mounts: the addresses of agents, an export of theirs, and maybe a directory below that.

use std::fmt;
use std::path::PathBuf;

use super::spread::Spread;

/// An agent, and what of it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where the agents are, any of which will do; the first first.
    pub agents: Vec<Address>,
    /// The export; empty is the only one there is.
    pub export: String,
    /// A directory below the export; empty is the export itself.
    pub subtree: String,
}

/// Where an agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host and a port.
    Tcp(String),
    /// A socket of this node.
    Unix(PathBuf),
}

impl Source {
    /// The agents that a text means: `HOST:PORT[,HOST:PORT...][/EXPORT[/DIRECTORY]]` or
    /// `unix:PATH[,unix:PATH...][:EXPORT[/DIRECTORY]]`. `None` if it means none, but a directory.
    pub fn parse(text: &str) -> Option<Source> {
        if let Some(rest) = text.strip_prefix("unix:") {
            let mut agents = Vec::new();
            let mut below = "";
            for one in rest.split(",unix:") {
                let (path, behind) = one.split_once(':').unwrap_or((one, ""));
                agents.push(Address::Unix(path.into()));
                below = behind;
            }
            return Some(Source::new(agents, below));
        }
        if text.starts_with(['/', '.']) {
            return None;
        }
        let (hosts, below) = text.split_once('/').unwrap_or((text, ""));
        let agents: Option<Vec<Address>> = hosts.split(',').map(tcp).collect();
        Some(Source::new(agents?, below))
    }

    /// The same agents, in the order in which this client turns to them.
    pub fn spread(self, spread: Spread, client: &str) -> Source {
        let order = spread.order(client, self.agents.len());
        let agents = order.map(|number| self.agents[number].clone()).collect();
        Source { agents, ..self }
    }

    fn new(agents: Vec<Address>, below: &str) -> Source {
        let (export, subtree) = below.split_once('/').unwrap_or((below, ""));
        Source { agents, export: export.into(), subtree: subtree.trim_end_matches('/').into() }
    }
}

fn tcp(host: &str) -> Option<Address> {
    let (name, port) = host.rsplit_once(':')?;
    let is_host = !name.is_empty() && port.parse::<u16>().is_ok();
    is_host.then(|| Address::Tcp(host.into()))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(host) => f.write_str(host),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = match self.agents.first() {
            Some(Address::Unix(_)) => ':',
            Some(Address::Tcp(_)) | None => '/',
        };
        for (at, agent) in self.agents.iter().enumerate() {
            write!(f, "{}{agent}", if at > 0 { "," } else { "" })?;
        }
        if !self.export.is_empty() {
            write!(f, "{separator}{}", self.export)?;
        }
        if self.subtree.is_empty() { Ok(()) } else { write!(f, "/{}", self.subtree) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_told_from_directories() {
        for text in
            ["/data", "./a:1", "relative", "with:colon", "host:port/x", ":7040", "a/b:1", "h:1,b/x"]
        {
            assert_eq!(Source::parse(text), None, "{text}");
        }
    }

    #[test]
    fn sources_are_written_as_they_are_read() {
        for text in [
            "ion1:7040",
            "ion1:7040/scratch",
            "10.0.0.1:7040/scratch/a/b",
            "[::1]:7040/scratch",
            "unix:/run/iofwd.sock",
            "unix:/run/iofwd.sock:scratch/a",
            "ion1:7040,ion2:7040/scratch/a",
            "unix:/run/one.sock,unix:/run/two.sock:scratch",
        ] {
            let source = Source::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(source.to_string(), text);
        }
        let source = Source::parse("h:1/x/a/b/").expect("an agent");
        assert_eq!((source.export.as_str(), source.subtree.as_str()), ("x", "a/b"));
    }

    #[test]
    fn clients_turn_to_different_agents_first_and_to_all_of_them_at_last() {
        let source = Source::parse("a:1,b:1,c:1/x").unwrap();
        let spread = |spread, client| source.clone().spread(spread, client).to_string();
        assert_eq!(spread(Spread::Number(0), "node7:/mnt"), "a:1,b:1,c:1/x");
        assert_eq!(spread(Spread::Number(2), "node7:/mnt"), "c:1,a:1,b:1/x");
        assert_eq!(spread(Spread::Client, "node7:/mnt"), "b:1,c:1,a:1/x");
        assert_eq!(spread(Spread::Client, "node8:/mnt"), "c:1,a:1,b:1/x");
    }
}
