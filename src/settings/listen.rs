//! Where an agent listens.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// A place where clients connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// An address and a port; port 0: the kernel chooses one.
    Tcp(SocketAddr),
    /// The path of a unix socket.
    Unix(PathBuf),
}

/// How a client is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Over TCP, with or without TLS.
    Tcp,
    /// Over a unix socket: the same machine, and the kernel vouches for the caller.
    Unix,
}

impl Listen {
    /// How clients that connect here are connected.
    pub const fn transport(&self) -> Transport {
        match self {
            Listen::Tcp(_) => Transport::Tcp,
            Listen::Unix(_) => Transport::Unix,
        }
    }

    /// Whether only processes of this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Listen::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Listen::Unix(_) => true,
        }
    }
}

/// The port that agents listen on unless told otherwise.
pub const PORT: u16 = 7040;

impl Default for Listen {
    fn default() -> Listen {
        Listen::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT))
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix(path);
        }
        text.parse().map(Listen::Tcp).map_err(|_| {
            format!(
                "'{text}' is no place to listen: write an address in numbers and a port, for \
                 example 127.0.0.1:{PORT} or [::1]:{PORT}, or unix:/run/iofwd/agent.sock"
            )
        })
    }
}

fn unix(path: &str) -> Result<Listen, String> {
    if !path.starts_with('/') {
        return Err(format!(
            "the socket '{path}' does not begin with /: write the whole path, for example \
             unix:/run/iofwd/agent.sock"
        ));
    }
    if path.len() > SOCKET_PATH_MOST {
        return Err(format!(
            "the path of the socket has {} bytes: the kernel takes {SOCKET_PATH_MOST}",
            path.len()
        ));
    }
    Ok(Listen::Unix(path.into()))
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Tcp(address) => address.fmt(f),
            Listen::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// `sun_path` without the zero at its end.
const SOCKET_PATH_MOST: usize = 107;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_written_as_they_are_read() {
        for text in ["127.0.0.1:7040", "[::1]:7040", "0.0.0.0:0", "unix:/run/iofwd/agent.sock"] {
            let listen: Listen = text.parse().expect("a place");
            assert_eq!(listen.to_string(), text);
        }
        assert_eq!(Listen::default().to_string(), "127.0.0.1:7040");
    }

    #[test]
    fn what_is_no_place_says_what_would_be() {
        for wrong in ["", "7040", "localhost:7040", "127.0.0.1", "127.0.0.1:70400", "unix:a.sock"] {
            let problem = wrong.parse::<Listen>().expect_err(wrong);
            assert!(problem.contains("for example"), "{problem}");
        }
        let long = format!("unix:/{}", "x".repeat(107));
        assert!(long.parse::<Listen>().expect_err("too long").contains("108 bytes"));
    }

    #[test]
    fn only_loopback_and_sockets_are_local() {
        let local = |text: &str| text.parse::<Listen>().expect("a place").is_local();
        for text in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "unix:/s"] {
            assert!(local(text), "{text}");
        }
        for text in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1"] {
            assert!(!local(text), "{text}");
        }
    }
}
