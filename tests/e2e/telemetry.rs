//! What operators see must be true: a known load is done, and every number of it is looked for in
//! the status, the metrics and the views.

mod http;
mod introspect;
mod load;
mod metrics;
mod page;
mod slow;
mod status;
mod top;

use std::net::TcpListener;

use crate::e2e::harness::Mount;

use http::get;

/// A mount that is watched, with its address.
struct Watched {
    mount: Mount,
    address: String,
}

impl Watched {
    fn start(options: &[&str]) -> Option<Self> {
        let address = free_address();
        let metrics = format!("--metrics={address}");
        let options = [options, &[&metrics]].concat();
        Mount::start(&options).map(|mount| Self { mount, address })
    }

    fn metrics(&self) -> String {
        let (status, text) = get(&self.address, "/metrics");
        assert_eq!(status, 200, "{text}");
        text
    }
}

/// One that nobody had a moment ago.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    listener.local_addr().expect("it is bound").to_string()
}

/// The sum of all samples of a metric whose labels have this text.
fn sum(metrics: &str, name: &str, labels: &str) -> f64 {
    let of = |line: &&str| line.split(['{', ' ']).next() == Some(name) && line.contains(labels);
    let value = |line: &str| line.rsplit_once(' ')?.1.parse::<f64>().ok();
    metrics.lines().filter(of).filter_map(value).sum()
}
