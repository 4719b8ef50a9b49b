//! What is compared: the program in its ways, and other ways to get at a directory.

use crate::area::Area;
use crate::mounted::Mounted;
use crate::program::{Cache, Program, Through, Transport};
use crate::site::Site;

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Subject {
    Bare,
    Bindfs,
    BindfsUncached,
    Yardstick,
    YardstickCaching,
    /// The program with its agent inside.
    Coherent,
    /// The same with requests read from the device, as where the kernel offers nothing else.
    Device,
    CloseToOpen,
    /// The program with its agent apart.
    OverUnix,
    OverTcp,
    Sshfs,
    Gluster,
}

impl Subject {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Bindfs => "bindfs",
            Self::BindfsUncached => "bindfs-0s",
            Self::Yardstick => "yardstick",
            Self::YardstickCaching => "yardstick-1s",
            Self::Coherent => "coherent",
            Self::Device => "device",
            Self::CloseToOpen => "close-to-open",
            Self::OverUnix => "over-unix",
            Self::OverTcp => "over-tcp",
            Self::Sshfs => "sshfs",
            Self::Gluster => "glusterfs",
        }
    }

    /// Mounts it over a new directory in memory.
    pub(crate) fn mount(self, site: &Site) -> Result<Mounted<'_>, String> {
        let area = Area::in_memory(site, &format!("speed-{}", self.name()))?;
        let cache = if self == Self::CloseToOpen { Cache::CloseToOpen } else { Cache::Coherent };
        Mounted::with(site, &self.program(site)?, &area, cache)
    }

    fn program(self, site: &Site) -> Result<Program, String> {
        let yardstick = |ttl| Ok(Program::Yardstick { path: site.release("yardstick")?, ttl });
        match self {
            Self::Bare => Ok(Program::Bare),
            Self::Bindfs => Ok(Program::Bindfs { as_it_comes: true }),
            Self::BindfsUncached => Ok(Program::Bindfs { as_it_comes: false }),
            Self::Yardstick => yardstick(0),
            Self::YardstickCaching => yardstick(1),
            Self::Coherent | Self::CloseToOpen => site.program(),
            Self::Device => site.through(Through::Device, || site.program()),
            Self::OverUnix => site.through(Transport::Unix, || site.program()),
            Self::OverTcp => site.through(Transport::Tcp, || site.program()),
            Self::Sshfs => Ok(Program::Sshfs),
            Self::Gluster => Ok(Program::Gluster),
        }
    }
}
