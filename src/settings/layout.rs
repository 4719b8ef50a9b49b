//! How files are laid out over servers, where their file system does not say it or not all of it.

use std::path::PathBuf;

use crate::layout::{First, Pattern, Rule, Server};

use super::section::Section;

/// What is told beside the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutSettings {
    /// Servers that may have a queue of their own.
    pub queues: u32,
    /// The servers by their numbers, if they are told beforehand; none: numbered as they are met.
    pub servers: Vec<Server>,
    /// The configuration of an OrangeFS file system.
    pub pvfs_config: Option<PathBuf>,
    /// The `ceph` command, if it is to be asked where objects are.
    pub ceph_command: Option<PathBuf>,
    /// Rules for files whose file system says nothing; the first that fits counts.
    pub rules: Vec<Rule>,
}

impl LayoutSettings {
    pub(super) fn read(section: &Section<'_>, rules: &[Section<'_>]) -> LayoutSettings {
        section.refuse_unknown();
        LayoutSettings {
            queues: section.number("queues"),
            servers: servers(section),
            pvfs_config: section.path("pvfs_config"),
            ceph_command: section.path("ceph_command"),
            rules: rules.iter().filter_map(rule).collect(),
        }
    }
}

/// The servers of a list, each of them once.
fn servers(section: &Section<'_>) -> Vec<Server> {
    let mut servers = Vec::new();
    for text in section.list("servers").unwrap_or_default() {
        match Server::parse(&text) {
            Ok(row) => servers.extend(row),
            Err(what) => section.refuse("servers", what),
        }
    }
    let twice = servers.iter().enumerate().find(|(at, server)| servers[..*at].contains(server));
    if let Some((_, server)) = twice {
        section.refuse("servers", format!("{server} is there twice"));
    }
    if servers.len() > SERVERS_MOST {
        let what = format!("{} are too many: at most {SERVERS_MOST}", servers.len());
        section.refuse("servers", what);
    }
    servers
}

/// A rule, if all of it can be understood.
fn rule(section: &Section<'_>) -> Option<Rule> {
    section.refuse_unknown();
    let (pattern, stripe) = (pattern(section), section.number("stripe"));
    let servers = section.bounded("servers");
    if servers.is_none() {
        section.refuse("servers", "missing: write over how many servers these files are".into());
    }
    let servers = u32::try_from(servers?).ok()?;
    let first = first(section, servers);
    Some(Rule { pattern: pattern?, stripe, servers, first: first? })
}

fn pattern(section: &Section<'_>) -> Option<Pattern> {
    let Some(text) = section.text("pattern") else {
        section.refuse("pattern", "missing: write which files are meant, as in \"*.h5\"".into());
        return None;
    };
    Pattern::parse(&text).map_err(|what| section.refuse("pattern", what)).ok()
}

fn first(section: &Section<'_>, servers: u32) -> Option<First> {
    let Some(word) = section.word("first") else { return Some(First::Hash) };
    match (word.as_str(), word.parse::<u32>()) {
        ("hash", _) => Some(First::Hash),
        (_, Ok(number)) if number < servers => Some(First::Server(number)),
        _ => {
            let most = servers - 1;
            let what =
                format!("'{word}' is no server: write \"hash\", or a number from 0 to {most}");
            section.refuse("first", what);
            None
        }
    }
}

/// Each has a queue of its own.
const SERVERS_MOST: usize = 1_024;
