//! Networks of clients.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// All addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    /// Whether an address is in it. IPv4 addresses written as IPv6 are taken as what they are.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        width(address) == width(self.address)
            && first_bits(address, self.prefix) == first_bits(self.address, self.prefix)
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || {
            format!("'{text}' is no network: write for example 10.0.0.0/8, 192.168.1.7 or fd00::/8")
        };
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let prefix = match prefix {
            Some(digits) => digits.parse().map_err(|_| wrong())?,
            None => width(address),
        };
        if prefix > width(address) {
            return Err(format!("'{text}': at most /{} for such an address", width(address)));
        }
        let network = Network { address: from_bits(address, first_bits(address, prefix)), prefix };
        if network.address != address {
            return Err(format!("'{text}' is an address in a network: write {network}"));
        }
        Ok(network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix == width(self.address) {
            true => self.address.fmt(f),
            false => write!(f, "{}/{}", self.address, self.prefix),
        }
    }
}

const fn width(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// The address with all bits behind the prefix zero.
fn first_bits(address: IpAddr, prefix: u32) -> u128 {
    let bits = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    let rest = width(address) - prefix;
    bits.checked_shr(rest).unwrap_or(0).checked_shl(rest).unwrap_or(0)
}

fn from_bits(like: IpAddr, bits: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4((bits as u32).into()),
        IpAddr::V6(_) => IpAddr::V6(bits.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        let network: Network = network.parse().expect("a network");
        network.contains(address.parse().expect("an address"))
    }

    #[test]
    fn addresses_belong_by_their_first_bits() {
        assert!(contains("10.0.0.0/8", "10.255.0.1"));
        assert!(!contains("10.0.0.0/8", "11.0.0.1"));
        assert!(contains("192.168.4.0/22", "192.168.7.255"));
        assert!(!contains("192.168.4.0/22", "192.168.8.0"));
        assert!(contains("0.0.0.0/0", "8.8.8.8"));
        assert!(contains("::/0", "fd00::1"));
        assert!(contains("fd00:1::/32", "fd00:1:2::3"));
        assert!(!contains("fd00:1::/32", "fd00:2::3"));
        assert!(contains("::1", "::1"));
        assert!(!contains("::1", "::2"));
    }

    #[test]
    fn the_two_families_do_not_mix_but_mapped_addresses_are_ipv4() {
        assert!(!contains("0.0.0.0/0", "::1"));
        assert!(!contains("::/0", "127.0.0.1"));
        assert!(contains("10.0.0.0/8", "::ffff:10.1.2.3"));
    }

    #[test]
    fn networks_are_written_as_they_are_read() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "10.1.2.3", "fd00::/8", "::1", "::/0"] {
            assert_eq!(text.parse::<Network>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_network_says_why() {
        for wrong in ["", "10", "10.0.0.0/", "10.0.0.0/x", "host", "10.0.0.0/8/8"] {
            let problem = wrong.parse::<Network>().expect_err(wrong);
            assert!(problem.contains("10.0.0.0/8"), "{problem}");
        }
        let problem = "10.0.0.0/33".parse::<Network>().expect_err("too long");
        assert!(problem.contains("at most /32"), "{problem}");
        let problem = "10.1.2.3/8".parse::<Network>().expect_err("no network");
        assert!(problem.ends_with("write 10.0.0.0/8"), "{problem}");
    }
}
