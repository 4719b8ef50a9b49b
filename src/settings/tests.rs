//! Settings as people write them, and what they are told.

use std::net::SocketAddr;
use std::time::Duration;

use iofwd_scheduler::time::Span;
use proptest::prelude::*;

use super::*;
use crate::layout::First;

const EXPORT: &str = "[[export]]\nname = \"a\"\npath = \"/srv/a\"\n";

/// The settings of these lines and one export behind them.
fn parse(lines: &str) -> Settings {
    Settings::parse(&format!("{lines}\n{EXPORT}"), "agent.toml").expect("good settings")
}

/// What is wrong with these lines, if there is one export behind them.
fn problems(lines: &str) -> Vec<String> {
    wrong(&format!("{lines}\n{EXPORT}"))
}

fn wrong(text: &str) -> Vec<String> {
    let error = Settings::parse(text, "agent.toml").expect_err("bad settings");
    error.to_string().lines().map(String::from).collect()
}

/// The lines of the example that begin with '#' directly before a name, without it.
fn uncommented(example: &str) -> String {
    let bare = |line: &str| match line.strip_prefix('#') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '[') => {
            rest.to_string()
        }
        _ => line.to_string(),
    };
    example.lines().map(bare).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_export_is_all_that_must_be_given() {
    let settings = parse("");
    assert_eq!(settings.listen, [Listen::default()]);
    assert_eq!(settings.key_file, None);
    assert_eq!(settings.tls, None);
    assert_eq!(
        settings.scheduler,
        SchedulerSettings {
            policy: "twins".into(),
            window: None,
            gather: false,
            depth: 64,
            servers: 1,
            stripe: 65_536
        }
    );
    assert_eq!(
        settings.limits,
        Limits {
            clients: 1024,
            memory: 512 << 20,
            memory_per_client: 64 << 20,
            idle: Duration::from_secs(30),
            grace: Duration::from_secs(10)
        }
    );
    assert_eq!(settings.job.variables, ["SLURM_JOB_ID", "PBS_JOBID", "FLUX_JOB_ID"]);
    let [export] = &settings.exports[..] else { panic!("one export") };
    assert_eq!((export.name.as_str(), export.path.as_path()), ("a", Path::new("/srv/a")));
    assert_eq!((export.anonymous_uid, export.anonymous_gid, export.least_uid), (65_534, 65_534, 0));
    assert!(!export.read_only && export.subtrees && export.clients.is_empty());
    assert_eq!(export.squash, None);
}

#[test]
fn everything_can_be_given() {
    let settings = Settings::parse(
        r#"
        listen = ["0.0.0.0:7041", "unix:/run/a.sock"]
        key_file = "/etc/key"
        tls = { certificate = "/c", private_key = "/k", client_ca = "/a" }
        scheduler = { policy = "sw", window = "2ms", gather = true, depth = 8, servers = 4, stripe = 1048576 }
        [limits]
        clients = 0x10
        memory = "1G"
        memory_per_client = "8M"
        idle = "500s"
        [job]
        variables = []
        [[export]]
        name = "a.b_c-0"
        path = "/a"
        read_only = true
        squash = "all"
        anonymous_uid = 99
        anonymous_gid = 98
        least_uid = 1000
        clients = ["10.0.0.0/8", "::1"]
        subtrees = false
        [[export]]
        name = "b"
        path = "/b"
        squash = "none"
        "#,
        "agent.toml",
    )
    .expect("good settings");
    let address: SocketAddr = "0.0.0.0:7041".parse().expect("an address");
    assert_eq!(settings.listen, [Listen::Tcp(address), Listen::Unix("/run/a.sock".into())]);
    assert_eq!(settings.key_file, Some("/etc/key".into()));
    assert_eq!(settings.tls.and_then(|tls| tls.client_ca), Some("/a".into()));
    assert_eq!(settings.scheduler.window, Some(Span::from_millis(2)));
    assert!(settings.scheduler.gather);
    assert_eq!(settings.scheduler.stripe, 1 << 20);
    assert_eq!(settings.limits.clients, 16);
    assert_eq!(settings.limits.idle, Duration::from_secs(500));
    assert!(settings.job.variables.is_empty());
    let [first, second] = &settings.exports[..] else { panic!("two exports") };
    assert!(first.read_only && !first.subtrees && first.clients.len() == 2);
    assert_eq!((first.anonymous_uid, first.anonymous_gid, first.least_uid), (99, 98, 1000));
    assert_eq!((first.squash, second.squash), (Some(Squash::All), Some(Squash::None)));
}

#[test]
fn a_place_that_others_can_reach_needs_a_key() {
    let found = problems("listen = [\n\"127.0.0.1:7040\", \"10.0.0.1:7040\"]");
    assert_eq!(
        found,
        ["agent.toml:1: listen: 10.0.0.1:7040 can be reached from other machines, and without a \
          key anybody there could connect and act as any user: make a key with iofwd key new FILE \
          and set key_file, or listen on 127.0.0.1 or a unix socket"]
    );
    parse("listen = [\"10.0.0.1:7040\"]\nkey_file = \"/etc/key\"");
    parse("listen = [\"unix:/run/a.sock\", \"[::1]:7040\"]");
}

#[test]
fn an_unknown_field_is_named_with_the_known_ones_and_the_nearest() {
    assert_eq!(
        problems("[scheduler]\n\npolcy = \"twins\""),
        ["agent.toml:3: scheduler.polcy: there is no such field in [scheduler]: did you mean \
          policy? known are policy, window, gather, depth, servers, stripe"]
    );
    let found = problems("memory = \"1G\"");
    assert!(found[0].contains("agent.toml:1: memory: "), "{found:?}");
    assert!(found[0].contains("it belongs below [limits]; "), "{found:?}");
    let found = problems("[limit]\nclients = 1");
    assert!(found[0].contains("did you mean limits?"), "{found:?}");
    assert!(
        found[0]
            .ends_with("tls, agent, scheduler, layout, stripes, limits, export, job, telemetry"),
        "{found:?}"
    );
}

#[test]
fn several_agents_have_numbers_and_number_servers_alike() {
    let lines = "[agent]\nindex = 3\ncount = 4\n[layout]\nservers = [\"ost:7\", \"ost:0-1\"]";
    let settings = parse(lines);
    assert_eq!(settings.agent, AgentPlace { index: Some(3), count: 4 });
    assert_eq!(parse("[agent]\ncount = 4").agent, AgentPlace { index: None, count: 4 });
    assert_eq!(parse("").agent, AgentPlace::default());
    let servers: Vec<String> = settings.layout.servers.iter().map(ToString::to_string).collect();
    assert_eq!(servers, ["ost:7", "ost:0", "ost:1"]);
    assert_eq!(
        problems("[agent]\nindex = 4\ncount = 4"),
        ["agent.toml:2: agent.index: 4 is not the number of one of 4 agents: they are counted \
          from 0 to 3"]
    );
    let found = problems("[layout]\nservers = [\"ost:0-3\", \"disk\", \"ost:2\"]");
    assert!(found[0].contains("layout.servers: 'disk' is no server"), "{found:?}");
    assert!(found[1].ends_with("layout.servers: ost:2 is there twice"), "{found:?}");
}

#[test]
fn data_paths_and_devices_are_understood() {
    let settings = Settings::parse(
        &format!("{EXPORT}data = \"direct\"\ndevice = \"hdd,depth=1\"\n"),
        "agent.toml",
    );
    let settings = settings.expect("good settings");
    assert_eq!(settings.exports[0].data, DataPath::Direct);
    let device = settings.exports[0].device.as_ref().map(ToString::to_string);
    assert_eq!(device.as_deref(), Some("hdd,depth=1"));
    let found = wrong(&format!("{EXPORT}data = \"fast\"\ndevice = \"tape\"\n"));
    assert!(found[0].ends_with("data: 'fast' is none of auto, direct and buffered"), "{found:?}");
    assert!(found[1].ends_with("device: no device 'tape': choose one of hdd, ssd, null"));
}

#[test]
fn all_problems_are_told_at_once_in_the_order_of_the_file() {
    let found = wrong(
        "listen = [\"here\", \"unix:/a\"]\n\
         [[export]]\nname = \"Big Name\"\npath = \"srv\"\nsquash = \"some\"\nread_only = \"yes\"\n\
         clients = [\"10.1.0.0/8\"]\nanonymous_uid = 0\n\
         [scheduler]\npolicy = \"twin\"\nwindow = 5\nstripe = \"1K\"\n\
         [limits]\nclients = \"many\"\nmemory = \"lots\"\nidle = \"1h\"\n\
         [job]\nvariables = [\"1X\"]\n",
    );
    let expected = [
        "agent.toml:1: listen: 'here' is no place to listen",
        "agent.toml:3: export.name: 'Big Name' is no name: at most 64 of a-z",
        "agent.toml:4: export.path: 'srv' does not begin with /",
        "agent.toml:5: export.squash: 'some' is none of \"root\", \"all\" and \"none\"",
        "agent.toml:6: export.read_only: 'yes': write true or false",
        "agent.toml:7: export.clients: '10.1.0.0/8' is an address in a network: write 10.0.0.0/8",
        "agent.toml:8: export.anonymous_uid: 0 is out of bounds, write 1 to 4294967294: 0 would",
        "agent.toml:10: scheduler.policy: no policy 'twin': did you mean twins? choose one of none",
        "agent.toml:11: scheduler.window: '5' is no time",
        "agent.toml:12: scheduler.stripe: 1K is out of bounds, write 4K to 4G: smaller than a page",
        "agent.toml:14: limits.clients: 'many' is no number: write 1 to 65536, without quotation",
        "agent.toml:15: limits.memory: 'lots' is no size",
        "agent.toml:16: limits.idle: '1h' is no time",
        "agent.toml:18: job.variables: '1X' is no variable",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    for (line, expected) in [
        ("key_file = 5", "key_file: 5 is no text: write one in quotation marks"),
        ("key_file = [\"/a\"]", "key_file: a list is no text"),
        ("listen = \"127.0.0.1:7040\"", "listen: it is a list of texts: write [\"one\""),
        ("listen = [1]", "listen: it is a list of texts"),
        ("listen = []", "listen: the list is empty: nobody could connect"),
        ("listen = [\"unix:/a\", \"unix:/a\"]", "listen: unix:/a is there twice"),
        ("limits = 5", "limits: it is a section: write [limits]"),
        ("limits.clients = true", "limits.clients: true is no number"),
        ("limits.clients = -1", "limits.clients: '-1' is no whole number: write 1 to 65536"),
        ("limits.clients = 1.5", "limits.clients: '1.5' is no whole number"),
        ("limits.memory = [1]", "limits.memory: a list is no number"),
        ("limits.memory = \"32M\"", "limits.memory_per_client: one client is given more than all"),
        ("tls.certificate = \"/c\"", "tls.private_key: missing: TLS needs the key"),
        ("tls.client_ca = \"/c\"", "tls.certificate: missing"),
    ] {
        let found = problems(line);
        assert!(found[0].contains(expected), "{line}: {found:?}");
    }
}

#[test]
fn exports_are_checked_as_a_whole() {
    let found = wrong("");
    assert!(found[0].starts_with("agent.toml: export: missing: an agent needs"), "{found:?}");
    let found = wrong("[export]\nname = \"a\"\n");
    assert!(found[0].starts_with("agent.toml:1: export: there may be several"), "{found:?}");
    let found = wrong(&format!("{EXPORT}{EXPORT}"));
    assert_eq!(found, ["agent.toml:5: export.name: there are two exports 'a'"]);
    let found = wrong("[[export]]\n");
    assert_eq!(
        found,
        [
            "agent.toml:1: export.name: missing: write what clients are to call it",
            "agent.toml:1: export.path: missing: write the directory to export",
        ]
    );
    for name in [".", "..", "-a", "a/b", "A", "\u{e4}", &"x".repeat(65)] {
        let found = wrong(&format!("[[export]]\nname = \"{name}\"\npath = \"/a\"\n"));
        assert!(found[0].contains("is no name"), "{found:?}");
    }
}

#[test]
fn what_is_no_toml_is_named_with_its_line() {
    let found = problems("\nlisten = [\"127.0.0.1:7040\"");
    assert!(found[0].starts_with("agent.toml:"), "{found:?}");
    assert!(found[0].contains("this is no TOML"), "{found:?}");
    let found = problems("key_file = \"/a\"\nkey_file = \"/b\"");
    assert!(found[0].starts_with("agent.toml:2: this is no TOML: duplicate key"), "{found:?}");
}

#[test]
fn variables_overrule_the_file_and_are_named_when_wrong() {
    let text = format!("[scheduler]\npolicy = \"fifo\"\n{EXPORT}");
    let variables = |name: &str| match name {
        "IOFWD_POLICY" => Some("sjf".to_string()),
        "IOFWD_CLIENTS" => Some("12".to_string()),
        "IOFWD_TLS_CERTIFICATE" => Some("/c".to_string()),
        "IOFWD_TLS_PRIVATE_KEY" => Some("/k".to_string()),
        _ => None,
    };
    let settings = Settings::parse_with(&text, "agent.toml", &variables).expect("good settings");
    assert_eq!(settings.scheduler.policy, "sjf");
    assert_eq!(settings.limits.clients, 12);
    assert_eq!(settings.tls.as_ref().map(|tls| tls.private_key.as_path()), Some(Path::new("/k")));
    let described = settings.describe();
    assert!(described.contains("sjf: the file with the fewest bytes first  (IOFWD_POLICY)"));
    let wrong = |name: &str| (name == "IOFWD_MEMORY").then(|| "1K".to_string());
    let error = Settings::parse_with(&text, "agent.toml", &wrong).expect_err("too little");
    let message = error.to_string();
    assert!(message.starts_with("agent.toml: limits.memory: 1K is out of bounds"), "{message}");
    assert!(message.ends_with("(it comes from IOFWD_MEMORY)"), "{message}");
}

#[test]
fn the_example_is_the_defaults_and_has_every_field() {
    let example = Settings::parse(Settings::example(), "example").expect("a good example");
    let plain = parse("");
    assert_eq!(example.listen, plain.listen);
    assert_eq!((&example.key_file, &example.tls), (&None, &None));
    assert_eq!(example.scheduler, plain.scheduler);
    assert_eq!(example.layout, plain.layout);
    assert_eq!(example.limits, plain.limits);
    assert_eq!(example.job, plain.job);
    let [export] = &example.exports[..] else { panic!("one export") };
    let named = Export { name: "a".into(), path: "/srv/a".into(), ..export.clone() };
    assert_eq!([named], plain.exports[..]);

    let full = uncommented(Settings::example());
    let full = Settings::parse(&full, "example").expect("all of the example is good");
    for field in field::FIELDS {
        let origin = full.origins.of(field.section, 0, field.name);
        assert_ne!(origin, origin::Origin::Default, "{} is not in the example", field.path());
        if let Some(variable) = field.variable {
            assert!(Settings::example().contains(&format!("[{variable}]")), "{variable}");
        }
    }
}

#[test]
fn the_example_states_bounds_and_policies_as_they_are() {
    let example = Settings::example();
    for entry in iofwd_scheduler::policy::ALL {
        assert!(example.contains(entry.name), "{}", entry.name);
    }
    let sections = ["limits", "scheduler", "layout", "stripes"];
    for field in sections.into_iter().flat_map(field::in_section) {
        if let Some(bound) = field.bound {
            assert!(example.contains(&bound.range()), "{}: {}", field.path(), bound.range());
        }
    }
}

#[test]
fn what_is_described_has_every_field_with_value_and_origin() {
    let settings = parse("listen = [\"unix:/run/a.sock\"]\n[limits]\nmemory = \"1G\"");
    let described = settings.describe();
    for field in field::FIELDS {
        assert!(described.contains(&format!("\n  {} ", field.name)) || field.name == "listen");
        assert!(described.contains(field.meaning), "{}", field.path());
    }
    assert!(described.starts_with("  listen              unix:/run/a.sock  (line 1)\n"));
    assert!(described.contains("  memory              1G  (line 3)\n"));
    assert!(described.contains("  clients             1024  (default)\n"));
    assert!(described.contains("root over TCP, none over a unix socket  (default)\n"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Settings::read(Path::new("/no/such/agent.toml")).expect_err("no file");
    assert!(error.to_string().starts_with("/no/such/agent.toml: cannot be read: No such file"));
}

proptest! {
    /// Whatever is typed is understood, or refused with lines that are there.
    #[test]
    fn slips_anywhere_are_refused_with_their_lines(
        slips in prop::collection::vec((any::<prop::sample::Index>(), 0..3, " -~\\PC"), 1..6),
    ) {
        let mut letters: Vec<char> = uncommented(Settings::example()).chars().collect();
        for (at, kind, typed) in &slips {
            let at = at.index(letters.len());
            match kind {
                0 => drop(letters.remove(at)),
                1 => letters.splice(at..at, typed.chars()).for_each(drop),
                _ => letters.splice(at..=at, typed.chars()).for_each(drop),
            }
        }
        let text: String = letters.iter().collect();
        if let Err(error) = Settings::parse(&text, "agent.toml") {
            prop_assert!(!error.problems.is_empty());
            for problem in &error.problems {
                prop_assert!(problem.line.is_none_or(|line| line <= text.lines().count().max(1) + 1));
                prop_assert!(!problem.what.is_empty());
            }
        }
    }

    /// Values of every kind in every field.
    #[test]
    fn every_kind_of_value_is_understood_or_refused(
        field in prop::sample::select(field::FIELDS),
        value in prop::sample::select(vec![
            "0", "-1", "99999999999999999999", "1.5", "inf", "true", "\"\"", "\"x\"", "\"1\"",
            "[]", "[1]", "[\"\"]", "[[]]", "{}", "{ x = 1 }", "1979-05-27", "\"18446744073709551615\"",
        ]),
    ) {
        let text = match field.section {
            "" => format!("{} = {value}\n{EXPORT}", field.name),
            "export" => format!("[[export]]\n{} = {value}\n", field.name),
            section => format!("[{section}]\n{} = {value}\n{EXPORT}", field.name),
        };
        if let Err(error) = Settings::parse(&text, "agent.toml") {
            prop_assert!(error.problems.iter().any(|problem| !problem.field.is_empty()));
        }
    }
}

#[test]
fn rules_are_read_in_their_order() {
    let settings = parse(
        "[[stripes]]\npattern = \"*.h5\"\nstripe = \"1M\"\nservers = 4\nfirst = 3\n\
         [[stripes]]\npattern = \"run/**\"\nservers = 2\n[layout]\nqueues = 8",
    );
    assert_eq!(settings.layout.queues, 8);
    let [h5, run] = &settings.layout.rules[..] else { panic!("two rules") };
    assert_eq!((h5.stripe, h5.servers, h5.first), (1 << 20, 4, First::Server(3)));
    assert_eq!((run.stripe, run.servers, run.first), (64 << 10, 2, First::Hash));
    assert!(run.pattern.matches(b"run/deep/file") && !h5.pattern.matches(b"run/deep/file"));
    assert!(settings.describe().contains("run/**"));
}

#[test]
fn rules_that_cannot_be_are_named_with_their_lines() {
    let found = problems(
        "[[stripes]]\npattern = \"/abs\"\nservers = 2\nfirst = 2\n\
         [[stripes]]\nstripe = \"1K\"",
    );
    let starts = [
        "agent.toml:2: stripes.pattern: '/abs' begins with /",
        "agent.toml:4: stripes.first: '2' is no server: write \"hash\", or a number from 0 to 1",
        "agent.toml:5: stripes.pattern: missing",
        "agent.toml:5: stripes.servers: missing",
        "agent.toml:6: stripes.stripe: 1K is out of bounds, write 4K to 4G",
    ];
    assert_eq!(found.len(), starts.len(), "{found:?}");
    for (line, start) in found.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}
