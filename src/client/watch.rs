//! Looks after the connections of a client: the agent hears of it now and then, and a client whose
//! agent does not answer learns so.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use iofwd_mount::caller::RequestKey;

use crate::link::Outgoing;
use crate::wire::call::Call;

use super::Client;
use super::callers::Who;
use super::connection::Connection;
use super::pending::Ask;

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
        let id = client.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let then = Box::new(|_| {});
        let (who, ask) = (Who::client(), Ask::of(Call::Ping));
        connection.ask(id, RequestKey(0), &who, ask, &client.budget, then);
    }
    if link.silent_for() > idle && connection.oldest().is_some_and(|oldest| oldest > idle) {
        link.close("the agent does not answer");
    }
}

/// How often it is looked.
const TICK: Duration = Duration::from_millis(500);
