//! What clients and agents say to each other: bytes and values, nothing else.
//!
//! A connection begins with a [`greeting`]: versions, proof of the key, what the client wants. Then
//! the client sends [`call`]s and gets [`answer`]s, in any order, named by numbers. All of it
//! travels in [`frame`]s: a few fixed bytes that tell how long the rest is, a head of small values,
//! and a payload of raw bytes that nobody takes apart.
//!
//! Whoever reads from the wire trusts nothing: every length has a bound, and what does not fit ends
//! the connection.

pub mod answer;
pub mod call;
pub mod frame;
pub mod greeting;
pub mod stripe;

/// The versions of the protocol that this program speaks, best first. An old one stays for as long
/// as clients of it may be around.
///
/// * 2: calls that are done once however often they are sent; vouchers with nodes and open files, by
///   which a client that lost its agent finds them again. Version 1 was never released.
pub const VERSIONS: &[u16] = &[2];

/// The best version that both sides speak.
pub fn agree(theirs: &[u16]) -> Option<u16> {
    VERSIONS.iter().copied().find(|version| theirs.contains(version))
}
