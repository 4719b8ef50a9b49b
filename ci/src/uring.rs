//! Requests over `io_uring`: the kernel offers them to mounts made while they are switched on, which is
//! an administrator's choice.

use std::fs;

/// Switches rings on for mounts made from now on; dropped, leaves things as they were.
pub(crate) struct Switch {
    before: String,
}

impl Switch {
    /// Or why not: the kernel is too old, or this machine does not let it be switched.
    pub(crate) fn on() -> Result<Switch, String> {
        let fail = |error| format!("no FUSE over io_uring here: {PARAMETER}: {error}");
        let before = fs::read_to_string(PARAMETER).map_err(fail)?;
        fs::write(PARAMETER, "Y").map_err(fail)?;
        Ok(Switch { before })
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        if let Err(error) = fs::write(PARAMETER, self.before.trim()) {
            println!("   {PARAMETER} stays on: {error}");
        }
    }
}

const PARAMETER: &str = "/sys/module/fuse/parameters/enable_uring";
