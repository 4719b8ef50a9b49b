//! Asking over HTTP, byte by byte, so that a test can also ask wrongly.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The status and the text of an answer.
pub(super) fn get(address: &str, path: &str) -> (u16, String) {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
}

/// The same for any request.
pub(super) fn ask(address: &str, request: &str) -> (u16, String) {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // Whoever is refused may be cut off with words of ours unread.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, body.to_owned())
}

/// A connection that gives up after a while.
pub(super) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}
