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
use super::pending::{Ask, Asker, Pending};
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
        if client.presence.lost().is_some() {
            release_killed(&client);
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
        let asker = Asker { id, key, thread, who: &Who::client(), once: None };
        connection.ask(&asker, Ask::of(Call::Ping), &client.budget, Box::new(|_| {}));
    }
    if link.silent_for() > idle && connection.oldest().is_some_and(|oldest| oldest > idle) {
        link.close("the agent does not answer");
    }
}

/// Whoever was killed while it waits for an agent that is not there must not wait on: the kernel
/// lets it go only when its call is answered.
fn release_killed(client: &Client) {
    for connection in &client.connections {
        let interrupted = connection.sent(|call| call.is_interrupted.then_some(call.thread));
        let killed: Vec<u32> =
            interrupted.into_iter().filter(|thread| process::is_killed(*thread)).collect();
        if !killed.is_empty() {
            let of_killed = |call: &Pending| call.is_interrupted && killed.contains(&call.thread);
            connection.give_up(Errno::EINTR, of_killed);
        }
    }
}

/// How often it is looked.
const TICK: Duration = Duration::from_millis(500);
