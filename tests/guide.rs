//! The operator's guide, typed by a test: every line of it that begins with the name of a node is run
//! there, in order, and must succeed. The nodes are namespaces with a file system, a network and
//! processes of their own.

#![expect(clippy::print_stdout, reason = "reasons for skipping are for whoever runs it")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "guide/node.rs"]
mod node;
#[path = "guide/script.rs"]
mod script;

use node::Cluster;
use script::Line;

const NODES: [&str; 5] = ["ds1", "ds2", "ion1", "node1", "node2"];

#[test]
fn the_guide_leads_from_nothing_to_a_running_job() {
    let guide = include_str!("../docs/guide.md");
    let lines = script::lines(guide, &NODES);
    assert!(lines.len() > 20, "the guide has {} commands", lines.len());
    let Some(cluster) = Cluster::start(&NODES) else { return };
    let mut said = Vec::new();
    for Line { node, command, stays } in &lines {
        println!("{node}# {command}");
        let output = match stays {
            true => cluster.node(node).start(command),
            false => cluster.node(node).run(command),
        };
        said.push((command.as_str(), output));
    }
    let of = |begin: &str| {
        let found = said.iter().find(|(command, _)| command.starts_with(begin));
        found.map(|(_, output)| output.as_str()).unwrap_or_else(|| panic!("no {begin}"))
    };
    // What a newcomer reads is true: two clients, two servers, 16 MiB written by one job.
    let status = of("iofwd status");
    assert!(status.starts_with("well\n") && status.contains("\n2 clients, "), "{status}");
    assert!(status.contains("ds1:7041") && status.contains("ds2:7041"), "{status}");
    let job = status.lines().find(|line| line.starts_with("4711 ")).unwrap_or_default();
    assert!(job.contains("16.0 MiB"), "{status}");
    assert!(of("iofwd top --once").contains("scratch: policy twins"));
    assert!(of("iofwd status /mnt/scratch").contains("client of ion1:7040"));
    let digest = of("SLURM_JOB_ID=4712 sha256sum").split(' ').next().unwrap().to_owned();
    assert_eq!(digest.len(), 64, "{digest}");
    for unmount in said.iter().filter(|(command, _)| command.starts_with("iofwd unmount")) {
        assert!(unmount.1.contains("everything is durable"), "{unmount:?}");
    }
}
