//! GlusterFS: a volume of one brick, made by a glusterd of its own on an address of its own, and
//! its mount.

use std::fs;
use std::path::Path;

use crate::area::Area;
use crate::program::{Behind, Mounting};
use crate::service::{Service, contained};
use crate::site::Site;
use crate::step::Step;

pub(crate) fn mounting<'a>(site: &'a Site, area: &Area) -> Result<Mounting<'a>, String> {
    let address = address(std::process::id());
    let socket = area.beside.join("glusterd.socket");
    let settings = area.beside.join("glusterd.vol");
    fs::write(&settings, volume_of_the_daemon(&area.beside, &socket, &address))
        .map_err(|e| format!("{}: {e}", settings.display()))?;
    let log = area.beside.join("glusterd.log");
    let step = contained(DAEMON).arg(&settings).arg(&log);
    let mut daemon = Service::start(site, "glusterd", step)?;
    let ask = |words: &[&str]| {
        let step = Step::new("gluster").arg("--mode=script");
        let step = step.arg(format!("--glusterd-sock={}", socket.display()));
        let step = step.arg(format!("--log-file={}", area.beside.join("cli.log").display()));
        step.args(words).limit(60).quiet().run(site)
    };
    daemon.wait_until(|_| socket.exists() && ask(&["volume", "list"]).is_ok())?;
    let brick = format!("{address}:{}", area.backing.display());
    ask(&["volume", "create", VOLUME, "transport", "tcp", &brick, "force"])?;
    ask(&["volume", "start", VOLUME])?;
    let client = Step::new("glusterfs")
        .args(["--no-daemon", "--volfile-server", &address, "--volfile-id", VOLUME])
        .args(["--attribute-timeout=0", "--entry-timeout=0", "--direct-io-mode=enable"])
        .arg(format!("--log-file={}", area.beside.join("client.log").display()))
        .arg(&area.point);
    Ok(Mounting { behind: Behind::Other(daemon), client })
}

fn volume_of_the_daemon(beside: &Path, socket: &Path, address: &str) -> String {
    format!(
        "volume management\n\
         type mgmt/glusterd\n\
         option working-directory {}\n\
         option glusterd-sockfile {}\n\
         option transport-type socket\n\
         option transport.address-family inet\n\
         option transport.socket.bind-address {address}\n\
         option transport.socket.listen-port 24007\n\
         end-volume\n",
        beside.join("glusterd").display(),
        socket.display()
    )
}

/// An address of the loopback that no other run has: gluster's ports cannot be chosen freely, and
/// it refuses to name a brick by 127.0.0.1.
fn address(process: u32) -> String {
    let [_, high, middle, low] = process.to_be_bytes();
    format!("127.{}.{middle}.{low}", 100 + high % 100)
}

/// The daemon and its bricks write to places that cannot be chosen; here they are its own.
const DAEMON: &str = "
    mount -t tmpfs -o mode=755 none /run
    mount -t tmpfs -o mode=755 none /var/log
    mkdir -p /run/gluster /var/log/glusterfs/bricks
    exec glusterd --no-daemon --volfile=\"$1\" --log-file=\"$2\" --pid-file=/run/glusterd.pid
";
const VOLUME: &str = "speed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_an_address_of_the_loopback() {
        assert_eq!(address(0x0001_0203), "127.101.2.3");
        assert_ne!(address(1000), address(1001));
    }
}
