//! fio: eight jobs write patterns and read them back, in small and large pieces, past the page
//! cache and through it.

use crate::area::Area;
use crate::judge::remote::over_each_transport;
use crate::mounted::in_each_mode;
use crate::program::Cache;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn fio(site: &Site) -> Verdict {
    judge(site, &Cache::ALL)?;
    Ok(Outcome::Passed(format!("{SIZES}, in each cache mode")))
}

/// The default mode, with client and agent apart.
pub(crate) fn remote_fio(site: &Site) -> Verdict {
    over_each_transport(site, || judge(site, &[Cache::Coherent]).map(|()| SIZES.into()))
}

pub(crate) fn judge(site: &Site, modes: &[Cache]) -> Result<(), String> {
    let area = |cache| Area::for_mode(site, "fio", cache);
    in_each_mode(site, modes, area, |mounted, _| {
        for (block, size) in [("32k", "4m"), ("1m", "16m")] {
            for direct in ["0", "1"] {
                verify(block, size, direct).arg("--directory").arg(mounted.path()).run(site)?;
            }
        }
        Ok(())
    })
}

pub(crate) const SIZES: &str = "32 KiB and 1 MiB, direct and buffered";

/// Writes all of it in random order, then reads it back and checks sums and places.
fn verify(block: &str, size: &str, direct: &str) -> Step {
    Step::new("fio").args([
        "--name=verify",
        "--rw=randwrite",
        "--verify=crc32c",
        "--verify_fatal=1",
        "--do_verify=1",
        "--verify_state_save=0",
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
