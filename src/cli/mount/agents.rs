//! The agents that a client mounts from: how each is reached, and what goes to which.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::cli::{Failure, MountArguments, OnLoss};
use crate::client::{Address, Client, How, Share, Source, Spread};
use crate::key::Key;
use crate::tls::{self, ClientTls};

/// How the agents are reached.
pub(super) struct Agents {
    /// The way to the client's own agent, and if there are shares to each of the others, from the next in
    /// the list on. Each goes on to the one behind it when its agent is lost.
    ways: Vec<How>,
    /// The number of the own one in the list.
    own: usize,
    share: Option<Share>,
}

impl Agents {
    /// What was typed.
    pub(super) fn new(
        arguments: &MountArguments,
        source: &Source,
        mountpoint: &Path,
    ) -> Result<Agents, Failure> {
        let host = nix::unistd::gethostname().unwrap_or_default();
        let client = format!("{}:{}", host.to_string_lossy(), mountpoint.display());
        let share = share(arguments, source)?;
        let order: Vec<usize> = arguments.spread.order(&client, source.agents.len()).collect();
        let own = order.first().copied().unwrap_or(0);
        let count = if share.is_some() { order.len() } else { 1 };
        let way = |number: &usize| {
            let source = source.clone().spread(Spread::Number(*number), &client);
            how(arguments, source, client.clone())
        };
        let ways: Result<Vec<How>, Failure> = order.iter().take(count).map(way).collect();
        Ok(Agents { ways: ways?, own, share })
    }

    pub(super) fn set_key(&mut self, key: &Key) {
        self.ways.iter_mut().for_each(|how| how.key = Some(key.clone()));
    }

    pub(super) fn set_loss_bound(&mut self, bound: Duration) {
        self.ways.iter_mut().for_each(|how| how.loss_bound = bound);
    }

    /// Become a client of each.
    pub(super) fn connect(self) -> Result<Arc<Client>, Failure> {
        let connect = |how| Client::connect(Arc::new(how)).map_err(|error| error.to_string());
        let clients: Result<Vec<_>, Failure> = self.ways.into_iter().map(connect).collect();
        let mut clients = clients?.into_iter();
        let own = clients.next().ok_or("there is no agent to connect to")?;
        if let Some(share) = self.share {
            own.share(share, self.own, clients.collect());
        }
        Ok(own)
    }
}

/// What has an agent of its own.
fn share(arguments: &MountArguments, source: &Source) -> Result<Option<Share>, Failure> {
    let spread = arguments.spread;
    let share = match spread {
        Spread::Client | Spread::Number(_) => return Ok(None),
        Spread::File => Share::File,
        Spread::Stripe => Share::Stripe(arguments.stripe),
    };
    if source.agents.len() < 2 {
        return Err(format!(
            "--spread={spread}: there is one agent, and nothing to spread over; list several, as \
             HOST:PORT,HOST:PORT/EXPORT"
        ));
    }
    // Agents go around their caches for whole pages only.
    if spread == Spread::Stripe && !arguments.stripe.is_multiple_of(4096) {
        return Err(format!(
            "--spread=stripe: --stripe is {} bytes, which are no whole pages; write a multiple of 4K",
            arguments.stripe
        ));
    }
    Ok(Some(share))
}

fn how(arguments: &MountArguments, source: Source, client: String) -> Result<How, Failure> {
    let key = arguments.key_file.as_deref().map(Key::load).transpose();
    Ok(How {
        key: key.map_err(|error| error.to_string())?,
        tls: tls(arguments, &source)?,
        job_variables: arguments.job_variables.clone(),
        connections: arguments.connections as usize,
        patience: Duration::from_secs(arguments.connect_timeout),
        begins_anew: true,
        deadline: arguments.deadline.map(Duration::from_secs),
        loss_bound: match arguments.on_loss {
            OnLoss::Wait => Duration::from_secs(arguments.loss_bound),
            OnLoss::Error => Duration::ZERO,
        },
        source,
        client,
    })
}

/// How the connection is made safe, if it is to be.
fn tls(arguments: &MountArguments, agent: &Source) -> Result<Option<ClientTls>, Failure> {
    let Some(ca) = arguments.tls_ca.as_deref() else { return Ok(None) };
    let first = agent.agents.first().ok_or("there is no agent to connect to")?;
    let host = match first {
        Address::Tcp(host) => host.rsplit_once(':').map_or(host.as_str(), |(host, _)| host),
        Address::Unix(_) => return Err("--tls-ca: a unix socket needs no encryption".into()),
    };
    let name = arguments.tls_name.as_deref().unwrap_or(host.trim_matches(['[', ']']));
    let files = (arguments.tls_certificate.as_deref(), arguments.tls_private_key.as_deref());
    let identity = match files {
        (Some(certificate), Some(private_key)) => Some(tls::Identity { certificate, private_key }),
        _ => None,
    };
    ClientTls::load(ca, name, identity).map(Some).map_err(|error| error.to_string())
}
