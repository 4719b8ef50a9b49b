//! The kernel's switch for rings. It is off unless an administrator has it on, and it matters only
//! while a mount is agreed on: whoever may has it on for that moment, and leaves it as it was.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};

/// The switch is on, and goes back when this is dropped.
#[derive(Debug)]
pub(crate) struct Switch {
    file: Flock<File>,
}

impl Switch {
    /// Switch rings on, if they are there and off, and this process may.
    pub(crate) fn on() -> Option<Switch> {
        Switch::at(Path::new(PARAMETER))
    }

    fn at(path: &Path) -> Option<Switch> {
        let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
        // Two who switch at the same time would leave it on.
        let mut file = lock(file)?;
        let mut before = String::new();
        file.read_to_string(&mut before).ok()?;
        if before.trim() != "N" {
            return None;
        }
        put(&mut file, "Y").ok()?;
        Some(Switch { file })
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        if let Err(error) = put(&mut self.file, "N") {
            tracing::warn!(%error, "{PARAMETER} stays on");
        }
    }
}

/// Others hold it for as long as a mount takes; whoever hangs is not waited for.
fn lock(mut file: File) -> Option<Flock<File>> {
    for _ in 0..TRIES {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Some(locked),
            Err((unlocked, nix::Error::EWOULDBLOCK)) => file = unlocked,
            Err(_) => return None,
        }
        thread::sleep(BETWEEN);
    }
    None
}

fn put(file: &mut File, value: &str) -> std::io::Result<()> {
    file.rewind()?;
    file.write_all(value.as_bytes())
}

const PARAMETER: &str = "/sys/module/fuse/parameters/enable_uring";
const TRIES: u32 = 200;
const BETWEEN: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A file that stands for the switch, gone when it is dropped.
    struct Pretended(std::path::PathBuf);

    impl Pretended {
        fn new(name: &str, state: &str) -> Pretended {
            let path = std::env::temp_dir().join(format!("switch-{name}-{}", std::process::id()));
            fs::write(&path, state).expect("a file for the test");
            Pretended(path)
        }

        fn state(&self) -> String {
            fs::read_to_string(&self.0).expect("it is there")
        }
    }

    impl Drop for Pretended {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn it_is_left_as_it_was() {
        let file = Pretended::new("off", "N\n");
        let switch = Switch::at(&file.0).expect("it can be switched");
        assert_eq!(file.state(), "Y\n");
        drop(switch);
        assert_eq!(file.state(), "N\n");
        let on = Pretended::new("on", "Y\n");
        assert!(Switch::at(&on.0).is_none(), "nothing to do");
        assert_eq!(on.state(), "Y\n");
        assert!(Switch::at(Path::new("/proc/there/is/none")).is_none());
    }

    #[test]
    fn many_at_the_same_time_leave_it_as_it_was() {
        let file = Pretended::new("many", "N\n");
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let switch = Switch::at(&file.0);
                        assert!(switch.is_none_or(|_switch| file.state() == "Y\n"));
                    }
                });
            }
        });
        assert_eq!(file.state(), "N\n");
    }
}
