//! One data server: asked, and asked again when it was away.
//!
//! What is asked of objects has the same effect however often it is done. So a call whose answer was
//! lost with its connection is simply made again, until the server is back or patience is at an end.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use iofwd_mount::Errno;

use crate::client::{Address, Client, Demanded, How, Source};
use crate::link::Buffer;
use crate::wire::answer::Value;
use crate::wire::call::Call;
use crate::wire::stripe::{FileCall, ObjectCall};

use super::Setup;

/// A data server.
#[derive(Debug)]
pub(super) struct DataServer {
    setup: Setup,
    number: usize,
    identity: OnceLock<[u8; 16]>,
    client: Mutex<Option<Arc<Client>>>,
}

/// What a server answers.
pub(super) type Answer = Result<(Value, Buffer), Errno>;

/// A call that was made, with what it takes to make it again.
pub(super) struct Asked<'a> {
    server: &'a DataServer,
    call: ObjectCall,
    payload: &'a [u8],
    room: usize,
    sent: Option<(Arc<Client>, Demanded)>,
}

impl DataServer {
    /// All servers of a setup.
    pub(super) fn all(setup: &Setup) -> Vec<Arc<DataServer>> {
        let server = |number| {
            let (identity, client) = (OnceLock::new(), Mutex::default());
            Arc::new(DataServer { setup: setup.clone(), number, identity, client })
        };
        (0..setup.servers.len()).map(server).collect()
    }

    /// Where it is.
    pub(super) fn address(&self) -> &str {
        &self.setup.servers[self.number]
    }

    /// Who it is; it is reached for that.
    pub(super) fn identity(&self) -> Result<[u8; 16], String> {
        self.client()?;
        self.identity.get().copied().ok_or_else(|| "it did not say who it is".into())
    }

    /// Tell it which servers there are; `EXDEV` if it knows others.
    pub(super) fn enrol(&self, list: &[u8]) -> Result<Result<(), Errno>, String> {
        let enrolled = self.client()?.demand(None, Call::File(FileCall::Enrol), list, 0);
        Ok(enrolled.answer().map(drop))
    }

    /// Ask, and wait for the answer.
    pub(super) fn ask(&self, call: ObjectCall, payload: &[u8], room: usize) -> Answer {
        self.begin(call, payload, room).answer()
    }

    /// Ask, and go on.
    pub(super) fn begin<'a>(
        &'a self,
        call: ObjectCall,
        payload: &'a [u8],
        room: usize,
    ) -> Asked<'a> {
        let client = self.lock().clone().filter(|client| !client.is_gone());
        let sent = client.map(|client| {
            let demanded = client.demand(None, Call::Object(call), payload, room);
            (client, demanded)
        });
        Asked { server: self, call, payload, room, sent }
    }

    /// A client of it that is connected. Many may want one; one of them connects.
    fn client(&self) -> Result<Arc<Client>, String> {
        let mut held = self.lock();
        if let Some(client) = held.as_ref().filter(|client| !client.is_gone()) {
            return Ok(Arc::clone(client));
        }
        // What was asked is asked again here, of a new connection if need be.
        let client = connect(&self.setup, self.number, Vec::new(), Duration::ZERO)?;
        let answer = client.demand(None, Call::Object(ObjectCall::Identify), &[], 16).answer();
        let (_, bytes) = answer.map_err(|errno| {
            format!("{} does not answer as a data server does: {errno}", self.address())
        })?;
        let identity = bytes.first_chunk().copied().ok_or("it did not say who it is")?;
        if *self.identity.get_or_init(|| identity) != identity {
            return Err(format!("{} is another server than it was", self.address()));
        }
        *held = Some(Arc::clone(&client));
        Ok(client)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Client>>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked<'_> {
    /// Wait for the answer, and for the server if it is away.
    pub(super) fn answer(mut self) -> Answer {
        let end = Instant::now() + self.server.setup.patience;
        let mut is_away = false;
        loop {
            if let Some((client, demanded)) = self.sent.take() {
                let answer = demanded.answer();
                if answer.is_ok() || !client.is_gone() {
                    return answer;
                }
            }
            match self.server.client() {
                Ok(client) => {
                    let call = Call::Object(self.call);
                    let demanded = client.demand(None, call, self.payload, self.room);
                    self.sent = Some((client, demanded));
                }
                Err(reason) if Instant::now() >= end => {
                    tracing::error!(reason, "a data server is given up");
                    return Err(Errno::EIO);
                }
                Err(reason) => {
                    if !std::mem::replace(&mut is_away, true) {
                        tracing::warn!(reason, "a data server is away; waiting for it");
                    }
                    thread::sleep(AGAIN);
                }
            }
        }
    }
}

/// Become a client of a server, that waits for it for so long when it is lost.
pub(super) fn connect(
    setup: &Setup,
    number: usize,
    job_variables: Vec<String>,
    loss_bound: Duration,
) -> Result<Arc<Client>, String> {
    let agent = Address::Tcp(setup.servers[number].clone());
    let source = Source { agents: vec![agent], export: EXPORT.into(), subtree: String::new() };
    let host = nix::unistd::gethostname().unwrap_or_default();
    let how = How {
        source,
        client: format!("{}:agent", host.to_string_lossy()),
        key: setup.key.clone(),
        tls: None,
        job_variables,
        connections: CONNECTIONS,
        patience: REACHING,
        loss_bound,
    };
    Client::connect(Arc::new(how)).map_err(|error| error.to_string())
}

/// What a data server calls what it gives to agents.
pub(crate) const EXPORT: &str = "names";
const CONNECTIONS: usize = 2;
/// How long one try to reach a server may take.
const REACHING: Duration = Duration::from_secs(3);
/// A server that is away is tried again after so long.
const AGAIN: Duration = Duration::from_millis(100);
