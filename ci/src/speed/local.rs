//! The program with its agent inside, against the bare directory, bindfs and the yardstick.

use crate::site::Site;
use crate::speed::Comparison;
use crate::speed::job::JOBS;
use crate::speed::subject::Subject;
use crate::speed::table::Bar;
use crate::stage::Verdict;

pub(crate) fn local(site: &Site) -> Verdict {
    LOCAL.measure(site)
}

static LOCAL: Comparison = Comparison {
    subjects: &[
        Subject::Bare,
        Subject::Bindfs,
        Subject::BindfsUncached,
        Subject::Yardstick,
        Subject::YardstickCaching,
        Subject::Coherent,
        Subject::Device,
        Subject::CloseToOpen,
    ],
    jobs: JOBS,
    base: Subject::Yardstick,
    bars: &[
        bar(&["4k-", "metadata-"], Subject::Coherent, 0.9, Subject::Yardstick),
        bar(&["1m-"], Subject::Coherent, 0.95, Subject::Yardstick),
        bar(&["4k-", "1m-", "metadata-"], Subject::Coherent, 1.5, Subject::Bindfs),
        bar(&["4k-", "metadata-"], Subject::Device, 0.9, Subject::Yardstick),
        bar(&["1m-"], Subject::Device, 0.95, Subject::Yardstick),
        bar(&["4k-", "1m-", "metadata-"], Subject::Device, 1.5, Subject::Bindfs),
        bar(&["re-read"], Subject::CloseToOpen, 0.8, Subject::Bare),
    ],
};

/// What one subject must reach relative to another.
const fn bar(jobs: &'static [&'static str], of: Subject, ratio: f64, over: Subject) -> Bar {
    Bar { jobs, of, over, ratio }
}
