//! The data servers of an export whose files are striped over some.

use std::path::PathBuf;
use std::time::Duration;

use super::section::Section;

/// Data servers, and how files are striped over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// `HOST:PORT` of each, in an order that stays; the first has the names.
    pub addresses: Vec<String>,
    /// The key that they have too.
    pub key_file: Option<PathBuf>,
    /// Bytes of a new file on one server before the next one follows.
    pub stripe_size: u64,
    /// Over how many servers a new file is striped; all of them if nothing is said.
    pub stripe_count: Option<u32>,
    /// How long a server that is away is waited for.
    pub timeout: Duration,
}

impl ServerSettings {
    /// The servers of an export, if it is over servers.
    pub(super) fn read(section: &Section<'_>) -> Option<ServerSettings> {
        let backend = section.text("backend").unwrap_or_else(|| DIRECTORY.into());
        let servers = ServerSettings {
            addresses: addresses(section),
            key_file: section.path("servers_key_file"),
            stripe_size: section.number("stripe_size"),
            stripe_count: section.bounded("stripe_count").and_then(|count| count.try_into().ok()),
            timeout: Duration::from_nanos(section.number("servers_timeout")),
        };
        match backend.as_str() {
            DIRECTORY => None,
            "servers" => {
                if servers.addresses.is_empty() {
                    let what = "missing: list where the servers are, as [\"HOST:PORT\"]".into();
                    section.refuse("servers", what);
                }
                let count = servers.stripe_count.unwrap_or(1) as usize;
                if count > servers.addresses.len().max(1) {
                    let what = format!("{count} are more than there are servers");
                    section.refuse("stripe_count", what);
                }
                Some(servers)
            }
            _ => {
                let what = format!("'{backend}' is neither \"directory\" nor \"servers\"");
                section.refuse("backend", what);
                None
            }
        }
    }
}

fn addresses(section: &Section<'_>) -> Vec<String> {
    let addresses = section.list("servers").unwrap_or_default();
    for (at, address) in addresses.iter().enumerate() {
        let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
            section.refuse("servers", format!("'{address}' is no HOST:PORT"));
        }
        if addresses[..at].contains(address) {
            section.refuse("servers", format!("{address} is there twice"));
        }
    }
    addresses
}

const DIRECTORY: &str = "directory";
