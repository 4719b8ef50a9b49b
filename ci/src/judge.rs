//! The judges: each puts ordinary programs or a test suite on a fresh mount and says what it finds.

mod applications;
mod demo;
mod device;
mod fio;
mod fsx;
mod helper;
mod pjdfstest;
mod remote;
mod resources;
mod servers;
mod sqlite;
mod stress_ng;
mod tree;
mod trees;
mod user;

pub(crate) use applications::{cargo_build, dbench, git};
pub(crate) use demo::demo;
pub(crate) use device::device;
pub(crate) use fio::{fio, remote_fio};
pub(crate) use fsx::{direct_fsx, fsx, remote_fsx};
pub(crate) use helper::helper;
pub(crate) use pjdfstest::{pjdfstest, remote_pjdfstest};
pub(crate) use resources::{idle, memory, peak_kib};
pub(crate) use servers::{servers_fio, servers_fsx, servers_pjdfstest};
pub(crate) use sqlite::sqlite;
pub(crate) use stress_ng::stress_ng;
pub(crate) use trees::trees;
pub(crate) use user::user;
