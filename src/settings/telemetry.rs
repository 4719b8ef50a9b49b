//! What an agent tells of itself, and where.

use std::net::SocketAddr;

use iofwd_scheduler::time::Span;

use super::section::Section;

/// Where it can be watched, and what is worth a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// Metrics and the page are here; nowhere if it is not set.
    pub listen: Option<SocketAddr>,
    /// Whether names of files are shown there.
    pub file_names: bool,
    /// A read or write that takes longer is told of in the log.
    pub slow: Span,
}

impl TelemetrySettings {
    pub(super) fn read(section: &Section<'_>) -> TelemetrySettings {
        section.refuse_unknown();
        TelemetrySettings {
            listen: section.text("listen").and_then(|text| {
                address(&text).map_err(|what| section.refuse("listen", what)).ok()
            }),
            file_names: section.flag("file_names", false),
            slow: Span::from_nanos(section.number("slow")),
        }
    }
}

/// An address for metrics and the page.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "'{text}' is no address: write one in numbers and a port, for example \
             127.0.0.1:{METRICS_PORT} or [::1]:{METRICS_PORT}"
        )
    })
}

/// The port beside that of agents.
const METRICS_PORT: u16 = 7049;

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn what_is_no_address_says_what_would_be() {
        assert!(address("127.0.0.1:7049").is_ok() && address("[::1]:0").is_ok());
        for wrong in ["", "7049", "localhost:7049", "127.0.0.1", "unix:/run/x"] {
            assert!(address(wrong).unwrap_err().contains("for example 127.0.0.1:7049"), "{wrong}");
        }
    }
}
