//! The processes of a run: started together, watched, and gone when the run is over, however it
//! ends.

use std::fs::File;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getppid, pipe2};

use super::board::Board;
use super::interrupt;
use super::worker::{End, Worker};
use super::{Failure, Stop};

/// Processes that work on one board.
pub(super) struct Crew<'a> {
    board: &'a Board,
    members: Vec<Member>,
    messages: File,
    troubles: Vec<Failure>,
    watched: Instant,
}

struct Member {
    name: String,
    process: Pid,
    is_running: bool,
}

impl<'a> Crew<'a> {
    /// Starts a process for each worker. Must be called while there is one thread.
    pub(super) fn start(board: &'a Board, workers: &[Worker<'a>]) -> Result<Crew<'a>, Failure> {
        let flags = OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        let (reader, writer) = pipe2(flags).map_err(|error| format!("no pipe: {error}"))?;
        let mut writer = File::from(writer);
        let (members, troubles) = (Vec::new(), Vec::new());
        let (messages, watched) = (File::from(reader), Instant::now());
        let mut crew = Crew { board, members, messages, troubles, watched };
        let parent = nix::unistd::getpid();
        for worker in workers {
            let name = &worker.plan.applications[worker.application].name;
            let name = format!("application {name}, process {}", worker.rank);
            // SAFETY: there is one thread, so that nothing in the child is left half done.
            match unsafe { fork() } {
                Ok(ForkResult::Parent { child }) => {
                    crew.members.push(Member { name, process: child, is_running: true });
                }
                Ok(ForkResult::Child) => become_worker(worker, &name, parent, &mut writer),
                Err(error) => {
                    let number = crew.members.len();
                    return Err(format!("no more than {number} processes can be started: {error}"));
                }
            }
        }
        Ok(crew)
    }

    /// Looks who has ended, every few moments; one that failed stops all. True while somebody is
    /// running.
    pub(super) fn watch(&mut self) -> bool {
        // It costs a system call for each process, and is asked whenever one arrives somewhere.
        if self.watched.elapsed() < PAUSE {
            return self.is_running();
        }
        self.watched = Instant::now();
        for member in self.members.iter_mut().filter(|member| member.is_running) {
            let trouble = match waitpid(member.process, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => continue,
                Ok(WaitStatus::Exited(_, WELL | WRONG)) => None,
                // Has told why by itself.
                Ok(WaitStatus::Exited(_, FAILED)) => Some(None),
                Ok(WaitStatus::Signaled(_, signal, _)) => {
                    Some(Some(format!("{} was ended by {signal}", member.name)))
                }
                other => Some(Some(format!("{} ended strangely: {other:?}", member.name))),
            };
            member.is_running = false;
            if let Some(told) = trouble {
                self.troubles.extend(told);
                self.board.stop();
            }
        }
        self.is_running()
    }

    fn is_running(&self) -> bool {
        self.members.iter().any(|member| member.is_running)
    }

    /// Waits for the end of all; what went wrong, if anything did.
    pub(super) fn finish(mut self) -> Result<(), Stop> {
        while self.watch() {
            if interrupt::came() {
                return Err(Stop::Interrupted);
            }
            self.board.wait(self.board.events(), PAUSE);
        }
        let mut text = Vec::new();
        // The pipe does not block: what cannot be read is not there.
        let _ = self.messages.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text);
        let mut troubles: Vec<Failure> = text.lines().map(String::from).collect();
        troubles.append(&mut self.troubles);
        match troubles.len() {
            0 => Ok(()),
            count => {
                let more = count.saturating_sub(SHOWN);
                troubles.truncate(SHOWN);
                if more > 0 {
                    troubles.push(format!("and {more} more"));
                }
                Err(Stop::Failed(troubles.join("\n")))
            }
        }
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        self.board.stop();
        let end = Instant::now() + PATIENCE;
        while self.watch() && Instant::now() < end {
            self.board.wait(self.board.events(), PAUSE);
        }
        for member in self.members.iter().filter(|member| member.is_running) {
            // It was ours and has not been waited for, so the number means no other process.
            let _ = kill(member.process, Signal::SIGKILL);
            let _ = waitpid(member.process, None);
        }
    }
}

/// What is left of this program in a child: the worker. Never returns to what the parent does.
fn become_worker(worker: &Worker<'_>, name: &str, parent: Pid, messages: &mut File) -> ! {
    // SAFETY: only asks for a signal when the parent ends.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    interrupt::ignore();
    let code = if getppid() != parent {
        FAILED
    } else {
        match catch_unwind(AssertUnwindSafe(|| worker.work())) {
            Ok(Ok(End::Well)) => WELL,
            Ok(Ok(End::Wrong(what))) => tell(messages, name, &what, WRONG),
            Ok(Err(what)) => tell(messages, name, &what, FAILED),
            Err(_) => tell(messages, name, "panicked, which is a bug in iofwd", FAILED),
        }
    };
    // SAFETY: ends the process without the parent's destructors, which are not the child's.
    unsafe { libc::_exit(code) }
}

/// A line that fits in a pipe at once is not mixed with those of others.
fn tell(messages: &mut File, name: &str, what: &str, code: i32) -> i32 {
    let mut line = format!("{name}: {what}").replace('\n', " ").into_bytes();
    line.truncate(libc::PIPE_BUF - 1);
    line.push(b'\n');
    // A full pipe has enough reasons in it already.
    let _ = messages.write(&line);
    code
}

const WELL: i32 = 0;
const FAILED: i32 = 1;
const WRONG: i32 = 2;
/// How long a process may take to finish the request under way when it is told to stop.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
const SHOWN: usize = 10;
