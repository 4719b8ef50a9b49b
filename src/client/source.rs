//! What a client mounts: an agent's address, an export of it, and maybe a directory below that.

use std::fmt;
use std::path::PathBuf;

/// An agent, and what of it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where the agent is.
    pub agent: Address,
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
    /// The agent that a text means: `HOST:PORT[/EXPORT[/DIRECTORY]]` or
    /// `unix:PATH[:EXPORT[/DIRECTORY]]`. `None` if it means none, but a directory.
    pub fn parse(text: &str) -> Option<Source> {
        if let Some(rest) = text.strip_prefix("unix:") {
            let (path, below) = rest.split_once(':').unwrap_or((rest, ""));
            return Some(Source::new(Address::Unix(path.into()), below));
        }
        if text.starts_with(['/', '.']) {
            return None;
        }
        let (host, below) = text.split_once('/').unwrap_or((text, ""));
        let (name, port) = host.rsplit_once(':')?;
        let is_host = !name.is_empty() && port.parse::<u16>().is_ok();
        is_host.then(|| Source::new(Address::Tcp(host.into()), below))
    }

    fn new(agent: Address, below: &str) -> Source {
        let (export, subtree) = below.split_once('/').unwrap_or((below, ""));
        Source { agent, export: export.into(), subtree: subtree.trim_end_matches('/').into() }
    }
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
        let separator = match self.agent {
            Address::Tcp(_) => '/',
            Address::Unix(_) => ':',
        };
        write!(f, "{}", self.agent)?;
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
        for text in ["/data", "./a:1", "relative", "with:colon", "host:port/x", ":7040", "a/b:1"] {
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
        ] {
            let source = Source::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(source.to_string(), text);
        }
        let source = Source::parse("h:1/x/a/b/").expect("an agent");
        assert_eq!((source.export.as_str(), source.subtree.as_str()), ("x", "a/b"));
    }
}
