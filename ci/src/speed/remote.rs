//! The program with client and agent apart on this machine, against sshfs, GlusterFS, and itself
//! with the agent inside. Nothing is cached by any of them.

use crate::packages;
use crate::site::Site;
use crate::speed::Comparison;
use crate::speed::job::UNCACHED_JOBS;
use crate::speed::subject::Subject;
use crate::speed::table::Bar;
use crate::stage::Verdict;

pub(crate) fn remote(site: &Site) -> Verdict {
    packages::install_peers(site)?;
    REMOTE.measure(site)
}

static REMOTE: Comparison = Comparison {
    subjects: &[
        Subject::OverUnix,
        Subject::OverTcp,
        Subject::Coherent,
        Subject::Sshfs,
        Subject::Gluster,
    ],
    jobs: UNCACHED_JOBS,
    base: Subject::Coherent,
    bars: &[
        over_unix(&["1m-"], 5.0, Subject::Sshfs),
        over_tcp(&["1m-"], 5.0, Subject::Sshfs),
        over_unix(&["1m-"], 2.0, Subject::Gluster),
        over_tcp(&["1m-"], 2.0, Subject::Gluster),
        over_unix(&["4k-random-read-"], 3.0, Subject::Sshfs),
        over_tcp(&["4k-random-read-"], 3.0, Subject::Sshfs),
        over_unix(&["4k-random-read-"], 3.0, Subject::Gluster),
        over_tcp(&["4k-random-read-"], 3.0, Subject::Gluster),
        over_unix(&["4k-random-write-"], 1.5, Subject::Sshfs),
        over_tcp(&["4k-random-write-"], 1.5, Subject::Sshfs),
        over_unix(&["4k-random-write-"], 3.0, Subject::Gluster),
        over_tcp(&["4k-random-write-"], 3.0, Subject::Gluster),
        over_unix(&["metadata-"], 1.5, Subject::Sshfs),
        over_tcp(&["metadata-"], 1.5, Subject::Sshfs),
        over_unix(&["metadata-"], 1.5, Subject::Gluster),
        over_tcp(&["metadata-"], 1.5, Subject::Gluster),
        over_unix(&["1m-sequential-read-8", "1m-sequential-write-8"], 0.5, Subject::Coherent),
        over_tcp(&["1m-sequential-read-8", "1m-sequential-write-8"], 0.5, Subject::Coherent),
    ],
};

/// What must be reached over a socket, relative to another.
const fn over_unix(jobs: &'static [&'static str], ratio: f64, over: Subject) -> Bar {
    Bar { jobs, of: Subject::OverUnix, over, ratio }
}

/// And over the loopback.
const fn over_tcp(jobs: &'static [&'static str], ratio: f64, over: Subject) -> Bar {
    Bar { jobs, of: Subject::OverTcp, over, ratio }
}
