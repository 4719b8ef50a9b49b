//! Speaks to the kernel: mounts a tree over FUSE and forwards every operation to a [`Store`].
//!
//! This crate knows of the other side only the [`Store`] trait, which it defines itself. It never
//! sees a socket, a setting or a scheduling policy.
//!
//! `fuser` mounts, negotiates the connection and carries notifications; the conversation itself is
//! read and answered here ([`session`] says why).

mod attach;
pub mod cache;
pub mod caller;
pub mod company;
mod conversation;
pub mod crew;
mod device;
pub mod errno;
mod line;
mod negotiation;
pub mod payload;
mod protocol;
pub mod reply;
mod ring;
mod running;
pub mod session;
pub mod store;

pub use cache::Cache;
pub use caller::Caller;
pub use errno::Errno;
pub use reply::{DataReply, DirectoryReply, Reply, XattrReply};
pub use session::{Options, Session};
pub use store::Store;
