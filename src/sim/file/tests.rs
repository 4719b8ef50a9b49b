//! Scenario files that are right, and many that are wrong.

use super::*;

use iofwd_scheduler::request::Operation;
use iofwd_scheduler::sim::Pattern;

const WHOLE: &str = r#"
seed = 7
repeat = 2

[platform]
servers = 8
stripe = "1M"
device = "ssd"
command = "100us"
depth = 4
crowd_read = "20us"
network_megabits = 100000

[forwarding]
policy = "fifo"
agents = 2

[[job]]
processes = 16
per_node = 4
pattern = "contiguous"
operation = "write"
request = 65536
volume = "1M"
start = "5ms"
think = "0us"

[sweep]
policy = ["fifo", "twins"]
window = ["1ms", "250us"]
request = ["64K", "1M"]
"#;

#[test]
fn a_file_says_everything_it_can() {
    let spec = parse(WHOLE, "whole.toml").expect("all is well");
    assert_eq!((spec.seed, spec.repeat, spec.daemon), (7, 2, Daemon::Iofwd));
    let Platform { servers, unit, device, congestion, back, .. } = spec.platform;
    assert_eq!((servers, unit), (8, 1 << 20));
    assert_eq!(device, Device { command: Span::from_micros(100), depth: 4, ..Device::SSD });
    assert_eq!(congestion, Congestion { read: Span::from_micros(20), write: Span::ZERO });
    assert_eq!(back.rate, Rate::megabits(100_000));
    let job = spec.jobs[0];
    assert_eq!((job.pattern, job.operation), (Pattern::SharedContiguous, Operation::Write));
    assert_eq!((job.request, job.volume, job.think), (65536, 1 << 20, Span::ZERO));
    assert_eq!(job.start, Time::ZERO + Span::from_millis(5));
    // FIFO once, TWINS with two windows; two request sizes.
    assert_eq!(spec.cases().expect("all is well").len(), 6);
}

#[test]
fn what_is_wrong_is_named_with_line_and_field() {
    for (right, wrong, expected) in [
        ("servers = 8", "servers = \"many\"", ":6: platform.servers: invalid type: string"),
        ("servers = 8", "servres = 8", ":6: platform.servres: unknown field `servres`, expected"),
        ("servers = 8", "servers = 0", "the number of servers is 0"),
        ("\"1M\"\ndevice", "\"1X\"\ndevice", ":7: platform.stripe: '1X' is no size"),
        ("\"ssd\"", "\"tape\"", ":8: platform.device: no device \"tape\": write \"hdd\", \"ssd\""),
        ("\"100us\"", "100", ":9: platform.command: 100 is no time: write it with its unit"),
        ("\"contiguous\"", "\"zigzag\"", ":21: job.pattern: no pattern \"zigzag\": write \"file-"),
        ("\"write\"", "\"append\"", ":22: job.operation: no operation \"append\": write \"read\""),
        ("processes = 16\n", "", ":18: [job]: missing field `processes`"),
        ("volume = \"1M\"", "volume = \"100K\"", "job 0: the volume is not a multiple"),
        ("\"twins\"]", "\"best\"]", "no scheduler 'best' in iofwd: write unforwarded, none, fifo"),
        ("\"250us\"]", "\"1h\"]", ":30: sweep.window: '1h' is no time"),
        ("agents = 2", "agents = 0", "the number of agents is 0"),
        ("agents = 2", "agents = -1", ":16: forwarding.agents: invalid value: integer `-1`"),
        ("seed = 7", "seed = ", ":2: seed:"),
        ("[platform]", "[platform", ":5: "),
    ] {
        assert!(WHOLE.contains(right), "{right}");
        let text = WHOLE.replacen(right, wrong, 1);
        let refusal = parse(&text, "wrong.toml").expect_err(wrong);
        assert!(refusal.starts_with("wrong.toml"), "{refusal}");
        assert!(refusal.contains(expected), "{wrong}: {refusal}");
    }
    assert!(parse("", "empty.toml").expect_err("no job").contains("missing field `job`"));
    assert!(parse("job = []", "empty.toml").expect_err("no job").contains("no [[job]]"));
}
