//! CephFS, the real one: a cluster on this machine, mounted with ceph-fuse, forwarded by the program.
//! Files of three layouts are written through it; what is said about them agrees with what Ceph says.

mod cluster;

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use iofwd::layout::ceph;

use super::harness::{Mount, program};
use cluster::Cluster;

const BLOCK: u64 = 65_536;
const BLOCKS: u64 = 8;

/// Unit, count and object size of the files.
const LAYOUTS: [(u64, u64, u64); 3] =
    [(65_536, 2, 262_144), (65_536, 3, 65_536), (131_072, 1, 131_072)];

/// Asking Ceph's command takes half a second an object, more on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn content(number: u64) -> Vec<u8> {
    (0..BLOCK).map(|at| (at * 5 + number * 11) as u8).collect()
}

/// The object of an offset, by Ceph's own description of the format.
fn object_of(offset: u64, (unit, count, size): (u64, u64, u64)) -> u64 {
    let block = offset / unit;
    (block / count / (size / unit)) * count + block % count
}

fn set_layout(path: &Path, (unit, count, size): (u64, u64, u64)) {
    let text = format!("stripe_unit={unit} stripe_count={count} object_size={size}");
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: both names end with a NUL and the value is as long as is said.
    let result = unsafe {
        let value = text.as_ptr().cast();
        libc::setxattr(path.as_ptr(), ceph::ATTRIBUTE.as_ptr(), value, text.len(), 0)
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

fn write_all(path: &Path) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    (0..BLOCKS).for_each(|number| file.write_all_at(&content(number), number * BLOCK).unwrap());
}

fn read_all(path: &Path) {
    let file = File::open(path).unwrap();
    for number in 0..BLOCKS {
        let mut found = vec![0; BLOCK as usize];
        file.read_exact_at(&mut found, number * BLOCK).unwrap();
        assert!(found == content(number), "{}: block {number}", path.display());
    }
}

fn said(what: &str, path: &Path) -> serde_json::Value {
    let output = Command::new(program()).args([what, "--json"]).arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The layout of a file, as soon as every piece of it has a server.
fn complete_layout(path: &Path) -> serde_json::Value {
    let end = Instant::now() + PATIENCE;
    loop {
        read_all(path);
        let layout = said("layout", path)[0].clone();
        let pieces = layout["pieces"].as_array().unwrap();
        let known = |piece: &serde_json::Value| {
            piece["server"].as_str().is_some_and(|server| server.starts_with("osd:"))
        };
        if !pieces.is_empty() && pieces.iter().all(known) {
            return layout;
        }
        assert!(Instant::now() < end, "not in time: {layout}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Bytes of the blocks of a file by daemon, as Ceph tells; checks that the layout says the same.
fn check(cluster: &Cluster, path: &Path, terms: (u64, u64, u64)) -> BTreeMap<String, u64> {
    let layout = complete_layout(path);
    assert_eq!(layout["provider"], "ceph");
    assert_eq!(layout["ranges"][0]["stripe"], terms.0);
    assert_eq!(layout["ranges"][0]["count"], terms.1);
    assert_eq!(layout["ranges"][0]["object_size"], terms.2);
    let inode = fs::metadata(path).unwrap().ino();
    let (mut daemons, mut bytes) = (BTreeMap::new(), BTreeMap::new());
    for piece in layout["pieces"].as_array().unwrap() {
        let object = object_of(piece["offset"].as_u64().unwrap(), terms);
        let daemon = daemons.entry(object).or_insert_with(|| {
            format!("osd:{}", cluster.daemon_of(&ceph::object_name(inode, object)))
        });
        assert_eq!(piece["server"], **daemon, "object {object}: {layout}");
        *bytes.entry(daemon.clone()).or_default() += piece["length"].as_u64().unwrap();
    }
    bytes
}

/// Bytes that went to each server so far.
fn counted(mount: &Mount) -> BTreeMap<String, u64> {
    let status = said("status", mount.path());
    let number = |server: u64| {
        let name = status[format!("server_{server}_is")].as_str().unwrap().to_string();
        (name, status[format!("server_{server}_bytes")].as_u64().unwrap())
    };
    (0..status["servers"].as_u64().unwrap()).map(number).collect()
}

#[test]
fn files_of_three_layouts_are_queued_at_the_daemons_that_ceph_names() {
    let Some(cluster) = Cluster::start(3) else { return };
    let command = format!("--ceph-command={}", cluster.command().display());
    let mount = Mount::over(&cluster.path(), &[&command]);
    for (number, terms) in LAYOUTS.into_iter().enumerate() {
        let path = mount.path().join(format!("file{number}"));
        File::create(&path).unwrap();
        set_layout(&path, terms);
        write_all(&path);
        let expected = check(&cluster, &path, terms);
        let before = counted(&mount);
        read_all(&path);
        let after = counted(&mount);
        for (daemon, bytes) in expected {
            assert_eq!(after[&daemon] - before[&daemon], bytes, "{daemon} of {}", path.display());
        }
        // What is beside the mount is the same.
        read_all(&cluster.path().join(format!("file{number}")));
    }
    // Whoever opens a file that has not changed again asks Ceph nothing.
    let asked = || said("status", mount.path())["layouts_asked"].as_u64().unwrap();
    let before = asked();
    for _ in 0..20 {
        (0..LAYOUTS.len()).for_each(|number| read_all(&mount.path().join(format!("file{number}"))));
    }
    assert_eq!(asked(), before);
    drop(mount);
    measure_the_asking(&cluster);
}

/// Says what it costs to ask for the layouts of many files, each opened for the first time.
fn measure_the_asking(cluster: &Cluster) {
    let names: Vec<_> = (0..MANY).map(|number| format!("many{number}")).collect();
    for name in &names {
        std::fs::write(cluster.path().join(name), name).unwrap();
    }
    let mount = Mount::over(&cluster.path(), &[]);
    for name in &names {
        assert_eq!(std::fs::read_to_string(mount.path().join(name)).unwrap(), *name);
    }
    let status = said("status", mount.path());
    assert_eq!(status["layouts_asked"].as_u64(), Some(MANY));
    let cost = status["layout_cost_ns_p50"].as_u64().unwrap();
    println!("asking Ceph for a layout took {} us at the median of {MANY}", cost / 1_000);
}

/// Files that are asked for.
const MANY: u64 = 200;
