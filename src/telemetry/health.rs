//! What is wrong with an agent, in plain words: what it is, since when, and what to look at.

use super::show;
use super::snapshot::{Client, Export, Server, Service, Snapshot};

/// Everything that is wrong; nothing if it is well.
pub fn problems(snapshot: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(service) = &snapshot.service {
        found.extend(service_problems(service));
    }
    for export in &snapshot.exports {
        for (number, server) in export.servers.iter().enumerate() {
            found.extend(server_problems(export, number, server));
        }
        found.extend(crowded(export));
    }
    found.extend(snapshot.client.as_ref().and_then(client_problem));
    found
}

fn client_problem(client: &Client) -> Option<String> {
    if let Some(seconds) = client.lost_s {
        let lost = show::time(seconds.saturating_mul(1_000_000_000));
        return Some(format!(
            "the agent at {} has been lost for {lost} ({}), and applications wait for it; is it \
             running, and is the network up?",
            client.agent, client.lost_because
        ));
    }
    let waiting = client.oldest_call_ms.saturating_mul(1_000_000);
    (waiting >= SLOW_NS).then(|| {
        format!(
            "a call has not been answered for {}: {}; iofwd status of the agent at {} says more",
            show::time(waiting),
            client.oldest_call,
            client.agent
        )
    })
}

fn service_problems(service: &Service) -> Vec<String> {
    let mut found = Vec::new();
    let nearly = service.memory_bytes_limit / 100 * FULL_PERCENT;
    if service.memory_bytes_limit > 0 && service.memory_bytes >= nearly {
        found.push(format!(
            "clients wait for memory: {} of {} are in use; raise limits.memory, or find out which \
             server is slow",
            show::bytes(service.memory_bytes),
            show::bytes(service.memory_bytes_limit)
        ));
    }
    if service.clients_limit > 0 && service.clients >= service.clients_limit {
        found.push(format!(
            "there are {} clients, as many as limits.clients allows: the next one is refused",
            service.clients
        ));
    }
    found
}

fn server_problems(export: &Export, number: usize, server: &Server) -> Vec<String> {
    let mut found = Vec::new();
    let whose = name(export, number, server);
    if server.in_flight > 0 && server.oldest_ns >= SLOW_NS {
        found.push(format!(
            "{whose} has not answered a request for {}: {} are on their way and {} wait; look at \
             that server and the way to it",
            show::time(server.oldest_ns),
            server.in_flight,
            server.queued
        ));
    }
    if let Some(ago) = server.failed_ago_ns.filter(|ago| *ago < RECENT_NS) {
        found.push(format!(
            "{whose} failed requests, the last one {} ago, {} in all; the log of the backing file \
             system says why",
            show::time(ago),
            server.failed
        ));
    }
    found
}

fn crowded(export: &Export) -> Option<String> {
    let nearly = export.waiting_bytes_limit / 100 * FULL_PERCENT;
    (export.waiting_bytes_limit > 0 && export.waiting_bytes >= nearly).then(|| {
        format!(
            "writes wait for memory{}: {} wait for their turn, as many as may; the servers are \
             slower than the applications",
            of(export),
            show::bytes(export.waiting_bytes)
        )
    })
}

/// A server as people call it.
fn name(export: &Export, number: usize, server: &Server) -> String {
    let known = if server.name.is_empty() { String::new() } else { format!(" ({})", server.name) };
    format!("server {number}{known}{}", of(export))
}

fn of(export: &Export) -> String {
    if export.name.is_empty() { String::new() } else { format!(" of {}", export.name) }
}

/// A server that takes longer is not merely busy.
const SLOW_NS: u64 = 10_000_000_000;
/// Failures are told for so long.
const RECENT_NS: u64 = 60_000_000_000;
/// A bound that is used to this share is what everybody waits for.
const FULL_PERCENT: u64 = 95;

#[cfg(test)]
mod tests {
    use super::*;

    fn with(server: Server) -> Snapshot {
        let export = Export { name: "scratch".into(), servers: vec![server], ..Export::default() };
        Snapshot { exports: vec![export], ..Snapshot::default() }
    }

    #[test]
    fn nothing_is_wrong_with_a_busy_agent() {
        let busy =
            Server { queued: 5_000, in_flight: 64, oldest_ns: SLOW_NS - 1, ..Server::default() };
        assert_eq!(problems(&with(busy)), Vec::<String>::new());
        let long_ago = Server { failed: 3, failed_ago_ns: Some(RECENT_NS), ..Server::default() };
        assert_eq!(problems(&with(long_ago)), Vec::<String>::new());
    }

    #[test]
    fn a_server_that_does_not_answer_is_named_with_how_long() {
        let name = "ost7".to_string();
        let hung = Server {
            name,
            in_flight: 3,
            queued: 9,
            oldest_ns: 14_000_000_000,
            ..Server::default()
        };
        let found = problems(&with(hung));
        assert_eq!(found.len(), 1);
        let begin = "server 0 (ost7) of scratch has not answered a request for 14.0 s: 3 are on";
        assert!(found[0].starts_with(begin), "{found:?}");
    }

    #[test]
    fn failures_memory_and_a_lost_agent_are_told() {
        let failed = Server { failed: 2, failed_ago_ns: Some(5_000_000_000), ..Server::default() };
        assert!(problems(&with(failed))[0].contains("the last one 5.00 s ago, 2 in all"));
        let service =
            Service { memory_bytes: 96, memory_bytes_limit: 100, clients: 1, ..Service::default() };
        let full = Snapshot { service: Some(service), ..Snapshot::default() };
        assert!(problems(&full)[0].contains("raise limits.memory"));
        let agent = "ion1:7040".to_string();
        let client = Client { agent, lost_s: Some(7), ..Client::default() };
        let lost = Snapshot { client: Some(client), ..Snapshot::default() };
        assert!(problems(&lost)[0].contains("ion1:7040 has been lost for 7.00 s"));
        let export = Export { waiting_bytes: 99, waiting_bytes_limit: 100, ..Export::default() };
        let crowd = Snapshot { exports: vec![export], ..Snapshot::default() };
        assert!(problems(&crowd)[0].contains("writes wait for memory"));
    }
}
