//! What each room may touch: the edges between the parts of the house, which cargo does not see
//! inside a crate.

use super::source::{Source, Violation, has_word};

/// A room, and what its code must not name.
struct Edge {
    room: &'static str,
    never: &'static [&'static str],
    instead: &'static str,
}

/// The table.
const EDGES: &[Edge] = &[
    Edge {
        room: "scheduler/src/",
        never: &[
            "std::fs",
            "std::net",
            "std::thread",
            "std::env",
            "std::process",
            "Instant",
            "SystemTime",
            "Mutex",
            "HashMap",
            "HashSet",
            "println!",
            "eprintln!",
            "tracing",
            "tokio",
        ],
        instead: "the scheduler decides and never acts: take an argument, answer with a value",
    },
    Edge {
        room: "mount/src/",
        never: &[
            "iofwd_scheduler",
            "iofwd",
            "clap",
            "tokio",
            "std::net",
            "TcpStream",
            "UnixStream",
            "process::exit",
        ],
        instead: "the mount knows the other side by its own trait `Store` only",
    },
    Edge {
        room: "src/wire",
        never: &["tokio", "std::fs", "std::time", "crate::agent", "crate::client", "crate::cli"],
        instead: "the wire turns bytes into values and back: let the caller do the rest",
    },
    Edge {
        room: "src/layout",
        never: &["tokio", "std::time", "crate::agent", "crate::client", "crate::cli"],
        instead: "a layout is arithmetic: let the caller do the rest",
    },
    Edge {
        room: "src/client",
        never: &["fuser", "clap", "crate::agent", "crate::backend", "crate::cli"],
        instead: "the client speaks the wire and implements the mount's `Store`",
    },
    Edge {
        // The embedded agent is a `Store`, so it may name the trait and its types.
        room: "src/agent",
        never: &["fuser", "clap", "crate::client", "crate::cli", "iofwd_mount::session"],
        instead: "the agent serves whoever asks: the command line introduces it to the mount",
    },
    Edge {
        room: "src/backend",
        never: &[
            "iofwd_scheduler",
            "clap",
            "crate::wire",
            "crate::agent",
            "crate::cli",
            "tokio::net",
        ],
        instead: "a backend does what it is told: decide in the scheduler, carry in the agent",
    },
    Edge {
        room: "src/telemetry",
        never: &["clap", "iofwd_mount", "crate::agent", "crate::client", "crate::cli"],
        instead: "telemetry is called, it does not call",
    },
    Edge {
        room: "src/introspect",
        never: &["clap", "tokio", "crate::agent", "crate::backend", "crate::client", "crate::cli"],
        instead: "it stands around any store, and knows it by the mount's trait only",
    },
    Edge {
        room: "src/trace",
        never: &["crate::agent", "crate::client"],
        instead: "a trace is called, it does not call",
    },
    Edge {
        room: "src/sim",
        never: &[
            "iofwd_mount",
            "clap",
            "tokio",
            "Instant",
            "SystemTime",
            "crate::agent",
            "crate::backend",
            "crate::client",
            "crate::cli",
        ],
        instead: "a simulation touches nothing real: the command line says what and where",
    },
    Edge {
        room: "src/settings",
        never: &[
            "clap",
            "tokio",
            "iofwd_mount",
            "crate::agent",
            "crate::client",
            "crate::backend",
            "crate::wire",
            "crate::cli",
            "crate::key",
            "crate::tls",
        ],
        instead: "settings say what is meant: whoever uses them loads keys and opens places",
    },
    Edge {
        room: "src/key",
        never: &["clap", "tokio", "iofwd_mount", "crate"],
        instead: "a key knows its file and its bytes, and nobody who uses it",
    },
    Edge {
        room: "src/handshake",
        never: &[
            "clap",
            "tokio",
            "iofwd_mount",
            "std::net",
            "std::fs",
            "std::time",
            "crate::agent",
            "crate::client",
            "crate::wire",
            "crate::cli",
        ],
        instead: "the handshake makes and judges messages: let the caller carry them",
    },
    Edge {
        room: "src/penalty",
        never: &["clap", "tokio", "iofwd_mount", "std::fs", "Instant::now", "crate"],
        instead: "penalties are counted, not carried out: take the time as an argument",
    },
    Edge {
        // It puts a store together from clients and the agent's engine.
        room: "src/striped",
        never: &[
            "fuser",
            "clap",
            "tokio",
            "crate::backend",
            "crate::cli",
            "crate::settings",
            "iofwd_mount::session",
        ],
        instead: "files over data servers are reached over the wire: the command line says which",
    },
    Edge {
        room: "src/tls",
        never: &["clap", "iofwd_mount", "crate"],
        instead: "TLS ends at a plain socket: nobody behind it knows of it, nor it of them",
    },
    Edge {
        room: "src/device",
        never: &["clap", "tokio", "iofwd_mount", "std::fs", "crate::agent", "crate::client"],
        instead: "a device only lets people wait: whoever has bytes moves them",
    },
    Edge {
        room: "src/job",
        never: &["clap", "tokio", "iofwd_mount", "crate"],
        instead: "a job is read from the system's table of processes and from nothing else",
    },
    Edge {
        room: "ci/",
        never: &["iofwd_mount", "iofwd_scheduler", "iofwd"],
        instead: "ci drives the built program and is linked to nothing of it",
    },
];

/// What a room must not name, found in its code; a name in quotation marks is only a text.
pub(crate) fn forbidden(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for edge in EDGES.iter().filter(|edge| belongs(&source.path, edge.room)) {
        for (number, line) in source.code() {
            let code = without_texts(line);
            for word in edge.never.iter().filter(|word| has_word(&code, word)) {
                let what = format!("{} must not name `{word}`: {}", edge.room, edge.instead);
                found.push(source.violation(number, what));
            }
        }
    }
    found
}

/// Whether a file is in a room: `src/agent` means `src/agent.rs` and `src/agent/`.
fn belongs(path: &str, room: &str) -> bool {
    path.strip_prefix(room)
        .is_some_and(|rest| room.ends_with('/') || rest.starts_with('/') || rest.starts_with('.'))
}

/// The line with what stands between quotation marks left out.
fn without_texts(line: &str) -> String {
    line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

#[cfg(test)]
mod planted {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(path, text);
        forbidden(&source).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_forbidden_edge_is_named_with_its_line() {
        let found = found("mount/src/a.rs", "//! Why.\n\nuse iofwd_scheduler::time::Time;\n");
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("mount/src/a.rs:3: mount/src/ must not name `iofwd_scheduler`")
        );
    }

    #[test]
    fn a_room_is_its_file_and_its_folder() {
        let text = "use clap::Parser;\n";
        assert_eq!(found("src/agent.rs", text).len(), 1);
        assert_eq!(found("src/agent/engine.rs", text).len(), 1);
        assert!(found("src/agents.rs", text).is_empty());
        assert!(found("src/cli.rs", text).is_empty());
    }

    #[test]
    fn rooms_that_stand_alone_name_nothing_of_the_crate() {
        assert_eq!(found("src/penalty.rs", "use crate::settings::Settings;\n").len(), 1);
        assert_eq!(found("src/handshake/proof.rs", "use crate::client::Session;\n").len(), 1);
        assert!(found("src/handshake/proof.rs", "use crate::key::Key;\n").is_empty());
    }

    #[test]
    fn comments_texts_and_tests_may_name_anything() {
        let text = "// Not a Mutex.\nlet x = \"Mutex\";\n#[cfg(test)]\nuse std::sync::Mutex;\n";
        assert!(found("scheduler/src/a.rs", text).is_empty());
        assert_eq!(found("scheduler/src/a.rs", "let x: Mutex<u8>;\n").len(), 1);
    }
}
