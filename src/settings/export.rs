//! What an agent gives to clients, a directory or a file system of data servers, and to whom.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::device;

use super::data::DataPath;
use super::listen::Transport;
use super::network::Network;
use super::section::{Reader, Section};
use super::servers::ServerSettings;

/// What clients can mount by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// What clients call it.
    pub name: String,
    /// The directory, if it is one.
    pub path: PathBuf,
    /// The data servers, if its files are striped over some.
    pub servers: Option<ServerSettings>,
    /// How data go to the directory.
    pub data: DataPath,
    /// Have every request take as long as on this device.
    pub device: Option<device::Spec>,
    /// Refuse every change.
    pub read_only: bool,
    /// Whose requests are done as the anonymous user, if the file says so; see
    /// [`Export::squash_over`].
    pub squash: Option<Squash>,
    /// User id of the anonymous user.
    pub anonymous_uid: u32,
    /// Group id of the anonymous user.
    pub anonymous_gid: u32,
    /// Who may mount it; nobody in the list: everybody.
    pub clients: Vec<Network>,
    /// Clients may mount a directory below it.
    pub subtrees: bool,
    /// Lower user ids are done as the anonymous user.
    pub least_uid: u32,
}

/// Whose requests are done as the anonymous user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Squash {
    /// Those of user and group 0.
    Root,
    /// Everybody's.
    All,
    /// Nobody's.
    None,
}

impl Export {
    /// Whose requests are squashed for a client that is connected like this. Unless the file says
    /// otherwise root is trusted on this machine only: elsewhere it is whoever owns the machine.
    pub fn squash_over(&self, transport: Transport) -> Squash {
        self.squash.unwrap_or(match transport {
            Transport::Tcp => Squash::Root,
            Transport::Unix => Squash::None,
        })
    }

    /// Whether a client with this address may mount it.
    pub fn admits(&self, address: IpAddr) -> bool {
        self.clients.is_empty() || self.clients.iter().any(|network| network.contains(address))
    }

    fn read(section: &Section<'_>) -> Export {
        let export = Export {
            name: section.text("name").unwrap_or_default(),
            path: section.path("path").unwrap_or_default(),
            servers: ServerSettings::read(section),
            data: parsed(section, "data").unwrap_or_default(),
            device: parsed(section, "device"),
            read_only: section.flag("read_only", false),
            squash: squash(section),
            anonymous_uid: section.number("anonymous_uid"),
            anonymous_gid: section.number("anonymous_gid"),
            clients: clients(section),
            subtrees: section.flag("subtrees", true),
            least_uid: section.number("least_uid"),
        };
        check_name(section, &export.name);
        if export.path.as_os_str().is_empty() && export.servers.is_none() {
            section.refuse("path", "missing: write the directory to export".into());
        }
        section.refuse_unknown();
        export
    }
}

/// All exports of a file.
pub(super) fn read_all<'t>(reader: &'t Reader<'t>, sections: &[Section<'t>]) -> Vec<Export> {
    let mut exports: Vec<Export> = Vec::new();
    for section in sections {
        let export = Export::read(section);
        if exports.iter().any(|other| other.name == export.name && !export.name.is_empty()) {
            section.refuse("name", format!("there are two exports '{}'", export.name));
        }
        exports.push(export);
    }
    if sections.is_empty() {
        let what = "missing: an agent needs something to export; write [[export]] with name and \
                    path below it";
        reader.refuse(None, "export", what.into());
    }
    exports
}

fn check_name(section: &Section<'_>, name: &str) {
    let allowed = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-');
    if name.is_empty() {
        section.refuse("name", "missing: write what clients are to call it".into());
    } else if name.len() > NAME_MOST || !name.chars().all(allowed) || name.starts_with(['.', '-']) {
        let what = format!(
            "'{name}' is no name: at most {NAME_MOST} of a-z, 0-9, '.', '_' and '-', the first \
             neither '.' nor '-'"
        );
        section.refuse("name", what);
    }
}

/// A text that means something, if there is one.
fn parsed<T: FromStr<Err = String>>(section: &Section<'_>, name: &str) -> Option<T> {
    let text = section.text(name)?;
    text.parse().map_err(|what| section.refuse(name, what)).ok()
}

fn squash(section: &Section<'_>) -> Option<Squash> {
    let text = section.text("squash")?;
    let squash = match text.as_str() {
        "root" => Squash::Root,
        "all" => Squash::All,
        "none" => Squash::None,
        _ => {
            let what = format!("'{text}' is none of \"root\", \"all\" and \"none\"");
            section.refuse("squash", what);
            return None;
        }
    };
    Some(squash)
}

fn clients(section: &Section<'_>) -> Vec<Network> {
    let texts = section.list("clients").unwrap_or_default();
    let network = |text: &String| match text.parse() {
        Ok(network) => Some(network),
        Err(what) => {
            section.refuse("clients", what);
            None
        }
    };
    texts.iter().filter_map(network).collect()
}

/// Longest name of an export, in bytes.
const NAME_MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn export() -> Export {
        Export {
            name: "home".into(),
            path: "/srv/home".into(),
            servers: None,
            data: DataPath::Auto,
            device: None,
            read_only: false,
            squash: None,
            anonymous_uid: 65_534,
            anonymous_gid: 65_534,
            clients: Vec::new(),
            subtrees: true,
            least_uid: 0,
        }
    }

    #[test]
    fn root_is_trusted_on_this_machine_unless_told() {
        assert_eq!(export().squash_over(Transport::Tcp), Squash::Root);
        assert_eq!(export().squash_over(Transport::Unix), Squash::None);
        for squash in [Squash::Root, Squash::All, Squash::None] {
            let export = Export { squash: Some(squash), ..export() };
            assert_eq!(export.squash_over(Transport::Tcp), squash);
            assert_eq!(export.squash_over(Transport::Unix), squash);
        }
    }

    #[test]
    fn clients_outside_the_networks_are_not_admitted() {
        let inside: IpAddr = "10.1.2.3".parse().expect("an address");
        let outside: IpAddr = "11.1.2.3".parse().expect("an address");
        assert!(export().admits(outside));
        let network = "10.0.0.0/8".parse().expect("a network");
        let export = Export { clients: vec![network], ..export() };
        assert!(export.admits(inside));
        assert!(!export.admits(outside));
    }
}
