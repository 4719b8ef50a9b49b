//! What a tool asks the kernel for: its reads, writes and syncs of whole requests, in order.

use std::fs;

use crate::area::Area;
use crate::site::Site;
use crate::step::Step;

use super::job::Job;

/// A call: its name, and where in the file.
pub(super) type Call = (String, u64);

/// Runs the step under strace. Requests in random order are told sorted: each tool has its own dice.
pub(super) fn calls(site: &Site, step: Step, job: &Job) -> Result<Vec<Call>, String> {
    let area = Area::new(site, "trace")?;
    let prefix = area.beside.join("calls");
    let wanted = "trace=read,write,pread64,pwrite64,preadv,pwritev,fsync,fdatasync";
    // A file for each process, so that no call is told in two parts.
    let strace = Step::new("strace").args(["-ff", "-e", wanted, "-o"]).arg(&prefix);
    strace.around(step).quiet().run(site)?;
    let mut calls = Vec::new();
    let explain = |e: std::io::Error| format!("{}: {e}", area.beside.display());
    for entry in fs::read_dir(&area.beside).map_err(explain)? {
        let text = fs::read(entry.map_err(explain)?.path()).map_err(explain)?;
        let text = String::from_utf8_lossy(&text);
        calls.extend(text.lines().filter_map(|line| call(line, job.bytes)));
    }
    area.clear();
    if job.is_random() {
        calls.sort();
    }
    Ok(calls)
}

/// A call on a line of strace, if it is one of a whole request or makes them durable.
fn call(line: &str, bytes: u64) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let arguments = arguments.trim_end().strip_suffix(')')?;
    match name {
        "fsync" | "fdatasync" => Some((name.into(), 0)),
        _ => {
            let (arguments, offset) = arguments.rsplit_once(", ")?;
            let (_, length) = arguments.rsplit_once(", ")?;
            let whole = length.parse() == Ok(bytes) && result.parse() == Ok(bytes);
            whole.then_some((name.into(), offset.parse().ok()?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_requests_and_syncs_are_seen() {
        let seen = |line| call(line, 4096);
        let at = |name: &str, offset| Some((name.to_owned(), offset));
        assert_eq!(seen(r#"pread64(5, "a, (b"..., 4096, 8192) = 4096"#), at("pread64", 8192));
        assert_eq!(seen(r#"pwrite64(5, "x"..., 4096, 0) = 512"#), None);
        assert_eq!(seen("fsync(5)              = 0"), at("fsync", 0));
        assert_eq!(seen(r#"read(3, "ELF"..., 832) = 832"#), None);
        assert_eq!(seen("+++ exited with 0 +++"), None);
    }
}
