//! sshfs, with an sshd of its own: host key, settings and authorized key lie in its room, and the
//! system's own server is neither used nor changed.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::area::Area;
use crate::program::{Behind, Mounting};
use crate::service::{Service, contained, free_port};
use crate::site::Site;
use crate::step::Step;

pub(crate) fn mounting<'a>(site: &'a Site, area: &Area) -> Result<Mounting<'a>, String> {
    let [host_key, key] = ["host-key", "key"].map(|name| area.beside.join(name));
    for path in [&host_key, &key] {
        let generate = ["-q", "-t", "ed25519", "-N", "", "-f"];
        Step::new("ssh-keygen").args(generate).arg(path).quiet().run(site)?;
    }
    let port = free_port()?;
    let settings = settings(&area.beside, port, &host_key, &key)?;
    let mut server = Service::start(site, "sshd", contained(SERVER).arg(settings))?;
    server.wait_until(|_| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    let options = [
        // What the comparison asks for; the second line, that the kernel caches nothing either.
        "cache=no".into(),
        "attr_timeout=0,entry_timeout=0,negative_timeout=0".into(),
        format!("port={port},IdentityFile={}", key.display()),
        "StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null".into(),
    ];
    let client = Step::new("sshfs").args(["-f", "-F", "/dev/null", "-o", &options.join(",")]);
    let client = client.arg(format!("127.0.0.1:{}", area.backing.display())).arg(&area.point);
    Ok(Mounting { behind: Behind::Other(server), client })
}

fn settings(beside: &Path, port: u16, host_key: &Path, key: &Path) -> Result<PathBuf, String> {
    let path = beside.join("sshd_config");
    let text = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}.pub\n\
         PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n\
         PermitRootLogin prohibit-password\nSubsystem sftp /usr/lib/openssh/sftp-server\n",
        host_key.display(),
        key.display()
    );
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// sshd wants a directory below /run that its system service makes.
const SERVER: &str = "
    mount -t tmpfs -o mode=755 none /run
    mkdir /run/sshd
    exec /usr/sbin/sshd -D -e -f \"$1\"
";
