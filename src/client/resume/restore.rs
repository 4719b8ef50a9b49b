//! Telling an agent what the client had with another one, or with the same before it was killed.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use iofwd_mount::Errno;
use iofwd_mount::store::{HandleId, NodeId};

use crate::client::Client;
use crate::client::connect::adopt;
use crate::client::pending::{Answered, Pending};
use crate::link::{Link, Outgoing};
use crate::wire::call::{Call, Request};
use crate::wire::frame;
use crate::wire::greeting::Welcome;

impl Client {
    /// The agent learns what the client holds; then what was not answered is sent again. To an agent
    /// that never knew the client, nothing can be said about locks, nor about calls that must not be
    /// done twice.
    pub(super) fn restore(
        &self,
        welcome: &Welcome,
        sockets: Vec<OwnedFd>,
        is_new: bool,
    ) -> io::Result<()> {
        let generation = self.presence.next_generation();
        let links = adopt(&self.hub, &self.connections, sockets, generation)?;
        let first = links.first().ok_or(io::ErrorKind::NotConnected)?;
        let told = self.tell(first, is_new);
        if let Err(error) = told {
            links.iter().for_each(|link| link.close("not everything could be told"));
            return Err(error);
        }
        if is_new {
            self.lose();
        }
        for (connection, link) in self.connections.iter().zip(links) {
            connection.carry(link, welcome.grant as usize);
        }
        Ok(())
    }

    /// What was sent and may have been done cannot be asked again.
    fn lose(&self) {
        self.holdings.lose_locks();
        let once: usize =
            self.connections.iter().map(|one| one.give_up(Errno::EIO, Pending::is_once)).sum();
        tracing::error!(calls = once, "no agent knew this client: locks and some calls are lost");
    }

    fn tell(&self, link: &Arc<Link>, is_new: bool) -> io::Result<()> {
        let mut count = 0;
        let mut say = |call: Call<'_>, voucher: &[u8]| -> io::Result<()> {
            let request = Request { id: 0, slot: 0, once: None, call };
            let head = frame::encode_in_order(&request, voucher.len());
            link.send(Outgoing { head: &head, payload: &[IoSlice::new(voucher)], share: None });
            count += 1;
            // Lest all of it be kept until the agent takes it.
            if count % AT_A_TIME == 0 { self.wait_for(link, Call::Ping) } else { Ok(()) }
        };
        for (node, known) in self.known_nodes() {
            let (references, parent) = (known.references, known.parent);
            let call = Call::Adopt { node, references, parent, name: &known.name };
            say(call, &known.voucher)?;
        }
        let locks = self.holdings.locks();
        for (handle, node, voucher) in self.open_files() {
            let lost = is_new && locks.iter().any(|lock| lock.handle == handle);
            say(Call::Reopen { node, handle, lost }, &voucher)?;
        }
        for lock in locks.iter().filter(|_| !is_new) {
            say(Call::Reclaim(*lock), &[])?;
        }
        self.wait_for(link, Call::Restored)
    }

    /// Directories before what is in them: their numbers are lower.
    fn known_nodes(&self) -> Vec<(NodeId, crate::client::holdings::Node)> {
        let all = self.holdings.nodes.iter();
        let mut nodes: Vec<_> = all.map(|known| (*known.key(), known.value().clone())).collect();
        nodes.sort_unstable_by_key(|(node, _)| *node);
        nodes
    }

    fn open_files(&self) -> Vec<(HandleId, NodeId, Box<[u8]>)> {
        let all = self.holdings.files.iter();
        all.map(|file| (*file.key(), file.node, file.voucher.clone())).collect()
    }

    /// Ask over a connection that is not in use yet, and wait for the answer.
    fn wait_for(&self, link: &Arc<Link>, call: Call<'_>) -> io::Result<()> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(connection) = self.connections.first() else { return Ok(()) };
        let (sender, receiver) = mpsc::channel();
        let then = move |answered: Answered| {
            let _ = sender.send(answered.map(drop));
        };
        connection.ask_over(link, id, call, Box::new(then));
        let end = Instant::now() + PATIENCE;
        let failed = loop {
            match receiver.recv_timeout(LOOK) {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(errno)) => break io::Error::from_raw_os_error(errno.raw()),
                Err(RecvTimeoutError::Timeout) if !link.is_closed() && Instant::now() < end => {}
                Err(_) => break io::ErrorKind::ConnectionAborted.into(),
            }
        };
        connection.drop_call(id);
        Err(failed)
    }
}

/// Things that are told before it is made sure that they were heard.
const AT_A_TIME: usize = 4096;
/// How long the agent may take for these.
const PATIENCE: Duration = Duration::from_secs(60);
/// How soon a connection that was lost again is noticed.
const LOOK: Duration = Duration::from_millis(50);
