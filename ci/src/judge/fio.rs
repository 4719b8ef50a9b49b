//! fio: eight jobs write patterns and read them back, in small and large pieces, past the page
//! cache and through it.

use crate::area::Area;
use crate::mounted::{Cache, on_mount};
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn fio(site: &Site) -> Verdict {
    let mut failures = Vec::new();
    for cache in Cache::ALL {
        let area = Area::new(site, &format!("fio-{}", cache.name()))?;
        let judged = on_mount(site, &area, cache, |mounted| {
            for (block, size) in [("32k", "4m"), ("1m", "16m")] {
                for direct in ["0", "1"] {
                    verify(block, size, direct).arg("--directory").arg(mounted.path()).run(site)?;
                }
            }
            Ok(())
        });
        failures.extend(judged.err().map(|why| format!("{}: {why}", cache.name())));
        area.clear();
    }
    if failures.is_empty() {
        Ok(Outcome::Passed("32 KiB and 1 MiB, direct and buffered, in each cache mode".into()))
    } else {
        Err(failures.join("\n"))
    }
}

/// Writes all of it in random order, then reads it back and checks sums and places.
fn verify(block: &str, size: &str, direct: &str) -> Step {
    Step::new("fio").args([
        "--name=verify",
        "--rw=randwrite",
        "--verify=crc32c",
        "--verify_fatal=1",
        "--do_verify=1",
        "--numjobs=8",
        "--ioengine=psync",
        "--randseed=1",
        "--fsync_on_close=1",
        "--group_reporting",
        &format!("--bs={block}"),
        &format!("--size={size}"),
        &format!("--direct={direct}"),
        &format!("--filename_format=$jobname-{block}-{direct}.$jobnum"),
    ])
}
