//! The screenful that `iofwd status` shows.

use std::fmt::Write;

use crate::telemetry::change::{self, ServerChange};
use crate::telemetry::show;
use crate::telemetry::snapshot::{Export, Server, Snapshot};

/// All of it, no wider than a terminal of old.
pub(super) fn draw(now: &Snapshot, before: Option<&Snapshot>, problems: &[String]) -> String {
    let mut text = String::new();
    if problems.is_empty() {
        let _ = writeln!(text, "well");
    }
    for problem in problems {
        let _ = writeln!(text, "PROBLEM: {problem}");
    }
    let up = show::time(now.uptime_ns);
    let _ = writeln!(text, "\niofwd {} on {}, process {}, up {up}", now.version, now.host, now.pid);
    if let Some(client) = &now.client {
        let _ = writeln!(
            text,
            "client of {}: {} connections, {} calls, {} wait",
            client.agent, client.connections, client.calls, client.calls_waiting
        );
    }
    if let Some(service) = &now.service {
        let _ = writeln!(
            text,
            "{} clients, {} requests, {} in memory (at most {})",
            service.clients,
            show::count(service.requests as f64),
            show::bytes(service.memory_bytes),
            show::bytes(service.memory_bytes_limit)
        );
    }
    let stretch = before.and_then(|before| change::between(now, before));
    let nanos = stretch.unwrap_or(now.uptime_ns);
    for export in &now.exports {
        let before = stretch.and_then(|_| change::earlier(export, before));
        draw_export(&mut text, export, before, nanos);
    }
    text
}

fn draw_export(text: &mut String, export: &Export, before: Option<&Export>, nanos: u64) {
    let name = if export.name.is_empty() { "mount" } else { &export.name };
    let window = export.window.map_or_else(String::new, |window| {
        format!(", windows of {}", show::time(window.length_ns))
    });
    let _ = writeln!(
        text,
        "\n{name}: policy {}{window}, depth {}; {} files open",
        export.policy, export.depth, export.open_files
    );
    draw_servers(text, export, before, nanos);
    draw_levels(text, export);
    draw_jobs(text, export, before, nanos);
    draw_files(text, export);
}

fn draw_servers(text: &mut String, export: &Export, before: Option<&Export>, nanos: u64) {
    let _ = writeln!(text, "{HEAD}");
    let mut servers: Vec<(usize, &Server, ServerChange)> = export
        .servers
        .iter()
        .enumerate()
        .map(|(number, server)| {
            let earlier = before.and_then(|before| before.servers.get(number));
            (number, server, change::server(server, earlier, nanos))
        })
        .collect();
    // Where there are many, those that matter: the fullest, then the busiest.
    if servers.len() > SERVERS {
        servers.sort_by_key(|(_, server, _)| {
            std::cmp::Reverse((server.queued + server.in_flight, server.bytes()))
        });
    }
    for (number, server, change) in servers.iter().take(SERVERS) {
        // Nothing in this stretch: what was before is better than nothing.
        let wait = if change.wait.count > 0 { &change.wait } else { &server.wait };
        let service = if change.service.count > 0 { &change.service } else { &server.service };
        let _ = writeln!(
            text,
            "{:>3} {:<13.13} {:>6} {:>4} {:>11} {:>7} {:>7} {:>7} {:>7} {:>5.1} {:>4}",
            number,
            server.name,
            show::count(server.queued as f64),
            server.in_flight,
            show::rate(change.rate()),
            short(wait.quantile(500)),
            short(wait.quantile(990)),
            short(service.quantile(500)),
            short(service.quantile(990)),
            server.merged(),
            show::share(change.idle).replace(' ', "")
        );
    }
    if servers.len() > SERVERS {
        let _ = writeln!(text, "    and {} servers with less to do", servers.len() - SERVERS);
    }
}

fn draw_levels(text: &mut String, export: &Export) {
    let levels = export.levels.iter().filter(|level| level.requests > 0);
    let sizes: Vec<String> =
        levels.map(|level| format!("{} {}", level.name, show::bytes(level.size()))).collect();
    if !sizes.is_empty() {
        let _ = writeln!(text, "a request, {}", sizes.join(", "));
    }
}

fn draw_jobs(text: &mut String, export: &Export, before: Option<&Export>, nanos: u64) {
    if export.jobs.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:<28} {:>8} {:>9} {:>11} {:>11} {:>7}",
        "job", "queued", "requests", "read", "written", "now"
    );
    for job in export.jobs.iter().take(JOBS) {
        let moved = job.bytes_read + job.bytes_written;
        let earlier = before.and_then(|before| before.jobs.iter().find(|old| old.name == job.name));
        let earlier = earlier.map(|old| old.bytes_read + old.bytes_written);
        let _ = writeln!(
            text,
            "{:<28.28} {:>8} {:>9} {:>11} {:>11} {}",
            job.name,
            job.queued,
            show::count(job.requests as f64),
            show::bytes(job.bytes_read),
            show::bytes(job.bytes_written),
            show::rate(change::rate(moved, earlier, nanos))
        );
    }
}

fn draw_files(text: &mut String, export: &Export) {
    if export.files.is_empty() {
        return;
    }
    let _ = writeln!(text, "{:<37} {:>9} {:>11} {:>11}", "file", "requests", "read", "written");
    for file in export.files.iter().take(FILES) {
        let _ = writeln!(
            text,
            "{:<37} {:>9} {:>11} {:>11}",
            ending(&file.name, 37),
            show::count(file.requests as f64),
            show::bytes(file.bytes_read),
            show::bytes(file.bytes_written)
        );
    }
}

/// The end of a long name: there it differs from others.
fn ending(name: &str, most: usize) -> String {
    let clean = name.chars().map(|c| if c.is_control() { '?' } else { c });
    let letters: Vec<char> = clean.collect();
    match letters.len().checked_sub(most) {
        None | Some(0) => letters.into_iter().collect(),
        Some(over) => "…".chars().chain(letters[over + 1..].iter().copied()).collect(),
    }
}

/// A time in seven columns.
fn short(nanos: u64) -> String {
    show::time(nanos).replace(' ', "")
}

const HEAD: &str =
    "  # server        queued  out        rate   wait50  wait99  serv50  serv99 merge idle";
const SERVERS: usize = 16;
const JOBS: usize = 5;
const FILES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::snapshot::{File, Job, Level, Service};
    use crate::telemetry::spread::Spread;

    fn busy(servers: usize) -> Snapshot {
        let wait = Spread { count: 9, sum: 9, largest: 999_999, buckets: vec![(1_048_575, 9)] };
        let server = Server {
            name: "lustre OST0000".into(),
            queued: 123_456,
            in_flight: 64,
            bytes_read: 1 << 40,
            reads: 1 << 30,
            issued: 8,
            batches: 2,
            wait: wait.clone(),
            service: wait,
            ..Server::default()
        };
        let export = Export {
            name: "scratch".into(),
            policy: "twins".into(),
            servers: vec![server; servers],
            levels: vec![Level { name: "leaving clients".into(), requests: 2, bytes: 65_536 }],
            jobs: vec![Job { name: "4711".into(), ..Job::default() }; 20],
            files: vec![File { name: "a/very/long/".repeat(9) + "name", ..File::default() }; 9],
            ..Export::default()
        };
        Snapshot {
            uptime_ns: 1_000_000_000,
            service: Some(Service::default()),
            exports: vec![export],
            ..Snapshot::default()
        }
    }

    #[test]
    fn problems_come_first() {
        let text = draw(&busy(1), None, &["the house burns".into()]);
        assert!(text.starts_with("PROBLEM: the house burns\n"), "{text}");
        assert!(draw(&busy(1), None, &[]).starts_with("well\n"));
    }

    #[test]
    fn a_busy_agent_with_many_servers_fits_a_screen() {
        let text = draw(&busy(200), None, &[]);
        assert!(text.lines().count() <= 45, "{text}");
        let wide = text.lines().find(|line| line.chars().count() > 86);
        assert_eq!(wide, None, "{text}");
        assert!(text.contains("and 184 servers with less to do"), "{text}");
        assert!(text.contains("leaving clients 32.0 KiB"), "{text}");
        assert!(text.contains("…") && text.contains("/name"), "{text}");
    }
}
