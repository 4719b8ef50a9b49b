//! An ordinary user mounts, with `fusermount3`, what is his: the mount goes to the background when
//! it is usable, his files work, others' stay closed, and he unmounts.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use crate::area::Area;
use crate::open_device::OpenDevice;
use crate::program::Program;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn user(site: &Site) -> Verdict {
    let Program::Iofwd(program) = site.program()? else {
        return Ok(Outcome::Skipped("only the program itself goes to the background".into()));
    };
    let area = Area::new(site, "user")?;
    let program = &reachable(&program, &area.beside)?;
    let failed = |e: std::io::Error| format!("{}: {e}", area.backing.display());
    for path in [&area.backing, &area.point] {
        chown(path, Some(NOBODY), Some(NOBODY)).map_err(failed)?;
    }
    let closed = area.backing.join("closed");
    fs::write(&closed, "root's\n").map_err(failed)?;
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).map_err(failed)?;

    let _device = OpenDevice::to_all()?;
    as_nobody(program).arg("mount").arg(&area.backing).arg(&area.point).limit(60).run(site)?;
    let worked = as_nobody("sh").args(["-ec", SESSION, "session"]).arg(&area.point).run(site);
    let unmounted = as_nobody(program).arg("unmount").arg(&area.point).limit(60).run(site);
    worked?;
    unmounted?;
    match fs::read_to_string(area.backing.join("dir/b")) {
        Ok(text) if text == "one\ntwo\n" => Ok(Outcome::Passed(String::new())),
        other => Err(format!("dir/b should hold two lines, but: {other:?}")),
    }
}

/// The build may lie where only its owner gets.
fn reachable(program: &Path, beside: &Path) -> Result<std::path::PathBuf, String> {
    let copy = beside.join("iofwd");
    fs::copy(program, &copy).map_err(|e| format!("copy {}: {e}", program.display()))?;
    Ok(copy)
}

fn as_nobody(program: impl AsRef<std::ffi::OsStr>) -> Step {
    let (uid, gid) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
    Step::new("setpriv").args([&uid, &gid, "--clear-groups"]).arg(program)
}

/// The user and the group that own nothing, by number on every system.
const NOBODY: u32 = 65534;

const SESSION: &str = "
    cd \"$1\"
    echo one > a; echo two >> a; mkdir dir; mv a dir/b; ln dir/b c; ln -s b dir/link
    [ \"$(cat dir/link)\" = \"$(printf 'one\\ntwo')\" ]
    [ \"$(stat -c '%u %h' c)\" = '65534 2' ]
    chmod 640 c; [ \"$(stat -c %a dir/b)\" = 640 ]
    truncate -s 1M big; rm big
    ! cat closed 2> /dev/null
    ! chown 0 c 2> /dev/null
    ls -la
";
