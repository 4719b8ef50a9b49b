//! As whom the users of a client act.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::e2e::harness::{Agent, Mount};

use super::{refused, shell};

fn open_to_all(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn root_is_nobody_over_tcp_unless_it_is_trusted() {
    let Some(agent) = Agent::exporting("", "") else { return };
    let backing = agent.ground().backing().to_owned();
    let mount = Mount::remote(&agent, &agent.over_tcp(), &["--allow-other"]);
    fs::write(backing.join("private"), "secret").unwrap();
    fs::set_permissions(backing.join("private"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(fs::read(mount.path().join("private")).is_err(), "root of another node is nobody");
    assert!(fs::write(mount.path().join("mine"), "x").is_err());
    open_to_all(&backing);
    fs::write(mount.path().join("mine"), "x").unwrap();
    assert_eq!(fs::metadata(backing.join("mine")).unwrap().uid(), 65534);
    assert!(shell(4321, "echo x > theirs", mount.path()));
    assert_eq!(fs::metadata(backing.join("theirs")).unwrap().uid(), 4321);
    assert!(!shell(4322, "echo x > theirs", mount.path()), "others are who they are");
    // On this node root is root.
    let local = Mount::remote(&agent, &agent.over_unix(), &[]);
    assert_eq!(fs::read(local.path().join("private")).unwrap(), b"secret");
}

#[test]
fn everybody_is_somebody_else_where_all_are_squashed() {
    let export = "squash = \"all\"\nanonymous_uid = 7777\nanonymous_gid = 7778";
    let Some(agent) = Agent::exporting("", export) else { return };
    let backing = agent.ground().backing().to_owned();
    open_to_all(&backing);
    let mount = Mount::remote(&agent, &agent.over_tcp(), &["--allow-other"]);
    assert!(shell(4321, "echo x > file", mount.path()));
    let found = fs::metadata(backing.join("file")).unwrap();
    assert_eq!((found.uid(), found.gid()), (7777, 7778));
    assert!(shell(9999, "echo y >> file", mount.path()), "they are all the same");
}

#[test]
fn system_users_are_nobody_where_ids_are_checked() {
    let Some(agent) = Agent::exporting("", "squash = \"none\"\nleast_uid = 1000") else { return };
    let backing = agent.ground().backing().to_owned();
    open_to_all(&backing);
    let mount = Mount::remote(&agent, &agent.over_tcp(), &["--allow-other"]);
    assert!(shell(33, "echo x > system", mount.path()));
    assert!(shell(1000, "echo x > user", mount.path()));
    let uid = |name: &str| fs::metadata(backing.join(name)).unwrap().uid();
    assert_eq!((uid("system"), uid("user")), (65534, 1000));
}

#[test]
fn a_read_only_export_cannot_be_changed() {
    let export = "squash = \"none\"\nread_only = true";
    let Some(agent) = Agent::exporting("", export) else { return };
    fs::write(agent.ground().backing().join("file"), "data").unwrap();
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    let file = mount.path().join("file");
    assert_eq!(fs::read(&file).unwrap(), b"data");
    let errno = |result: std::io::Result<()>| result.unwrap_err().raw_os_error();
    let rofs = Some(nix::libc::EROFS);
    assert_eq!(errno(fs::write(&file, "x")), rofs);
    assert_eq!(errno(fs::remove_file(&file)), rofs);
    assert_eq!(errno(fs::create_dir(mount.path().join("d"))), rofs);
    assert_eq!(errno(fs::rename(&file, mount.path().join("g"))), rofs);
    assert_eq!(errno(fs::set_permissions(&file, fs::Permissions::from_mode(0o777))), rofs);
    assert_eq!(fs::read(agent.ground().backing().join("file")).unwrap(), b"data");
}

#[test]
fn a_directory_below_an_export_is_all_there_is() {
    let Some(agent) = Agent::exporting("", "squash = \"none\"") else { return };
    let backing = agent.ground().backing().to_owned();
    fs::create_dir_all(backing.join("a/b")).unwrap();
    fs::write(backing.join("a/b/file"), "x").unwrap();
    fs::write(backing.join("outside"), "y").unwrap();
    let mount = Mount::remote(&agent, &format!("{}/a/b", agent.over_tcp()), &[]);
    let names: Vec<_> =
        fs::read_dir(mount.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["file"]);
    fs::write(mount.path().join("new"), "z").unwrap();
    assert_eq!(fs::read(backing.join("a/b/new")).unwrap(), b"z");
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    assert_eq!(inode(mount.path()), inode(&backing.join("a/b")));
    for (below, why) in [("none", "No such file"), ("outside", "Not a directory")] {
        let said = refused(&[&format!("{}/{below}", agent.over_tcp())]);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn who_may_not_mount_is_told_nothing_but_that() {
    let Some(agent) = Agent::exporting("", "clients = [\"192.0.2.0/24\"]") else { return };
    let said = refused(&[&agent.over_tcp()]);
    assert!(said.contains("no export 'data' for 127.0.0.1"), "{said}");
    let said = refused(&[&agent.over_tcp().replace("/data", "/other")]);
    assert!(said.contains("no export 'other'"), "{said}");
    let said = refused(&["127.0.0.1:1/data"]);
    assert!(said.contains("does iofwd agent run there?"), "{said}");
    let said = refused(&[&agent.over_unix().replace(":data", "/data")]);
    assert!(said.contains("unix:PATH:EXPORT"), "{said}");
}

#[test]
fn requests_are_counted_for_the_job_of_their_process() {
    let Some(agent) = Agent::start("") else { return };
    let mount = Mount::remote(&agent, &agent.over_tcp(), &[]);
    for (variable, value) in [("SLURM_JOB_ID", "4711"), ("PBS_JOBID", "4712"), ("OTHER", "1")] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "head -c 5000 /dev/zero > $0", value]);
        command.env_clear().env("PATH", "/usr/bin:/bin").env(variable, value);
        assert!(command.current_dir(mount.path()).status().unwrap().success());
    }
    assert_eq!(agent.number("job_4711_bytes"), 5000);
    assert_eq!(agent.number("job_4712_bytes"), 5000);
    assert_eq!(agent.number("job_uid_0_bytes"), 5000);
}

#[test]
fn a_user_of_this_node_is_that_user_whatever_the_client_says() {
    let Some(agent) = Agent::exporting("", "") else { return };
    let backing = agent.ground().backing().to_owned();
    open_to_all(&backing);
    open_to_all(agent.socket().parent().unwrap());
    fs::write(backing.join("private"), "secret").unwrap();
    fs::set_permissions(backing.join("private"), fs::Permissions::from_mode(0o600)).unwrap();
    let room = tempfile::tempdir().unwrap();
    open_to_all(room.path());
    let program = crate::e2e::harness::program();
    let script = format!(
        "mkdir m && '{0}' mount unix:{1} m && ! cat m/private && echo x > m/own; code=$?; \
         '{0}' unmount m; exit $code",
        program.display(),
        agent.socket().display()
    );
    if !Path::new("/usr/bin/fusermount3").exists() {
        return println!("skipped: users mount with fusermount3, which is not here");
    }
    if fs::metadata("/dev/fuse").unwrap().permissions().mode() & 0o006 != 0o006 {
        return println!("skipped: /dev/fuse is not open to ordinary users here");
    }
    // fusermount3 serves only users with a name.
    assert!(shell(DAEMON, &script, room.path()));
    assert_eq!(fs::metadata(backing.join("own")).unwrap().uid(), DAEMON);
}

/// A user that every system has.
const DAEMON: u32 = 1;
