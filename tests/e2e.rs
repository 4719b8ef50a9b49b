//! The built program, end to end: real processes and real mounts. Where nothing can be mounted, a
//! test says that it was skipped, and why.

#![expect(clippy::print_stdout, reason = "seeds and reasons for skipping are for whoever runs it")]

mod e2e {
    mod harness;
    mod recording;
    mod reference;
    mod semantics;
}
