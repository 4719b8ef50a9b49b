//! The built program, end to end: real processes and real mounts. Where nothing can be mounted, a
//! test says that it was skipped, and why.

#![expect(clippy::print_stdout, reason = "seeds and reasons for skipping are for whoever runs it")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod e2e {
    mod ceph;
    mod coherence;
    mod direct;
    mod double;
    mod exports;
    mod faults;
    mod grid;
    mod harness;
    mod hostile;
    mod network;
    mod recording;
    mod reference;
    mod semantics;
    mod sequence;
    mod servers;
    mod spread;
    mod survival;
    mod telemetry;
}
