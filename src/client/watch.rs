//! Looks after the connections of a client: the agent hears of it now and then, and a client whose
//! agent does not answer learns so.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use iofwd_mount::Errno;

use crate::link::Outgoing;
use crate::process;
use crate::wire::call::Call;

use super::callers::Who;
use super::connection::Connection;
use super::pending::{Ask, Asker};
use super::{Client, NOBODY};

/// Watch for as long as the client exists.
pub(super) fn start(client: &Arc<Client>, idle: Duration) -> std::io::Result<()> {
    let client = Arc::downgrade(client);
    thread::Builder::new().name("iofwd-watch".into()).spawn(move || watch(&client, idle))?;
    Ok(())
}

fn watch(client: &Weak<Client>, idle: Duration) {
    let mut pinged = Instant::now();
    loop {
        thread::sleep(TICK);
        let Some(client) = client.upgrade() else { return };
        let is_due = pinged.elapsed() >= idle / 4;
        if is_due {
            pinged = Instant::now();
        }
        for connection in &client.connections {
            look_after(&client, connection, is_due, idle);
        }
        if client.connections.iter().any(|connection| is_stuck(connection)) {
            look_for_ending(&client);
        }
        if let Some(deadline) = client.how.deadline {
            client.end_overdue(deadline);
        }
        for stalled in client.newly_stalled() {
            let seconds = stalled.waiting.as_secs();
            tracing::warn!(agent = %client.agent(), call = stalled.call, file = stalled.path,
                seconds, "not answered yet");
        }
    }
}

fn look_after(client: &Client, connection: &Connection, ping: bool, idle: Duration) {
    let Some(link) = connection.link() else { return };
    if link.is_closed() {
        return;
    }
    // Whatever waited for company leaves alone.
    link.send(Outgoing { head: &[], payload: &[], share: None });
    if ping {
        let id = client.next.fetch_add(1, Ordering::Relaxed);
        let (key, thread) = NOBODY;
        let asker = Asker { id, key, thread, who: &Who::client(), once: None, may_wait: false };
        connection.ask(&asker, Ask::of(Call::Ping), &client.budget, Box::new(|_| {}));
    }
    if link.silent_for() > idle && connection.oldest().is_some_and(|oldest| oldest > idle) {
        link.close("the agent does not answer");
    }
}

/// Somebody waits, and nothing was heard for a while: there may be no agent.
fn is_stuck(connection: &Connection) -> bool {
    let is_silent = connection.link().is_none_or(|link| link.silent_for() > STUCK);
    is_silent && connection.oldest().is_some_and(|oldest| oldest > STUCK)
}

/// Whoever is killed, or ends, while it waits for an agent that is not there must not wait on: the
/// kernel lets it go only when its call is answered. What it asked for is still asked for.
fn release_ending(client: &Client) {
    for connection in &client.connections {
        let waiting = connection.sent(|call| (call.thread != 0).then_some(call.thread));
        let ending: Vec<u32> =
            waiting.into_iter().filter(|thread| process::is_ending(*thread)).collect();
        connection.detach(Errno::EINTR, |call| ending.contains(&call.thread));
    }
}

/// On a thread of its own, one at a time: looking at a process can take as long as that likes.
fn look_for_ending(client: &Arc<Client>) {
    if !client.presence.begin_look() {
        return;
    }
    let looking = Arc::clone(client);
    let thread = thread::Builder::new().name("iofwd-ending".into());
    let started = thread.spawn(move || {
        release_ending(&looking);
        looking.presence.end_look();
    });
    if started.is_err() {
        client.presence.end_look();
    }
}

/// How often it is looked.
const TICK: Duration = Duration::from_millis(500);
/// Whoever waits for longer may have been killed meanwhile.
const STUCK: Duration = Duration::from_secs(1);
