//! The address where metrics, the page and its numbers can be read, and nothing else.
//!
//! It cannot stall the agent: one thread of its own, few connections, each with bounds on time and
//! size, and one look at the agent in a while, whoever asks and however often. It cannot be used to
//! read files: what can be asked for is a list of names, and the texts are part of the program.

mod answer;
mod look;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::Snapshot;

pub use look::Look;

/// Serve what `take` sees at an address, in the background, as long as the process runs. Answers the
/// address, which has a port if none was named, or why it cannot be used.
pub fn serve(
    address: SocketAddr,
    take: impl Fn() -> Snapshot + Send + Sync + 'static,
) -> Result<SocketAddr, String> {
    let explain = |error: std::io::Error| {
        format!(
            "cannot publish metrics at {address}: {error}; choose another address, or find out who \
             listens there (ss -ltnp)"
        )
    };
    let listener = TcpListener::bind(address).map_err(explain)?;
    listener.set_nonblocking(true).map_err(explain)?;
    let bound = listener.local_addr().map_err(explain)?;
    let look = Arc::new(Look::new(Box::new(take)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(explain)?;
    let thread = std::thread::Builder::new().name("iofwd-metrics".into());
    let run = move || runtime.block_on(accept(listener, look));
    thread.spawn(run).map_err(explain)?;
    Ok(bound)
}

async fn accept(listener: TcpListener, look: Arc<Look>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "metrics cannot be published"),
    };
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // Whoever comes when all places are taken waits in the system's queue, which is bounded.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let look = Arc::clone(&look);
                tokio::spawn(async move {
                    // Whoever does not read, or does not go on, gives up the place.
                    let _ = tokio::time::timeout(CONNECTION, converse(stream, look)).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection for metrics could not be accepted");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

async fn converse(stream: TcpStream, look: Arc<Look>) {
    let answer = service_fn(move |request| {
        let look = Arc::clone(&look);
        async move { Ok::<_, std::convert::Infallible>(answer::to(&request, &look)) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(BUFFER);
    // Somebody who does not speak HTTP is nobody's problem.
    let _ = http.serve_connection(TokioIo::new(stream), answer).await;
}

/// Connections served at a time.
const CONNECTIONS: usize = 32;
/// The longest that one lasts; a browser makes another.
const CONNECTION: Duration = Duration::from_secs(30);
/// How long the head of a request may take.
const HEADERS: Duration = Duration::from_secs(5);
/// Bytes of a request's head, at most; the least that the library takes.
const BUFFER: usize = 8192;
/// After an error of the listener.
const REST: Duration = Duration::from_millis(100);
