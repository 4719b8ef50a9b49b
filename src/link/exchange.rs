//! The first messages of a connection, before it is handed to the crew: one at a time, waited for.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::handshake::Transcript;
use crate::wire::frame::{self, Malformed, PREFIX, Prefix};
use crate::wire::greeting::{Bytes32, Hello};

/// Send one message.
pub async fn tell(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> io::Result<()> {
    stream.write_all(&frame::encode(message, 0, 0)).await?;
    stream.flush().await
}

/// Wait for one message, and read not a byte more.
pub async fn hear<T: DeserializeOwned>(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<T> {
    let mut prefix = [0; PREFIX];
    stream.read_exact(&mut prefix).await?;
    let prefix = Prefix::from_bytes(&prefix).map_err(invalid)?;
    if prefix.payload > 0 {
        return Err(invalid(Malformed("a greeting has no payload")));
    }
    let mut head = vec![0; prefix.head];
    stream.read_exact(&mut head).await?;
    frame::decode(&head).map_err(invalid)
}

/// What both sides have agreed on, for their proofs; and the encrypted channel, if there is one.
pub fn agreement(hello: &Hello, version: u16, channel: Option<&Bytes32>) -> Transcript {
    let said = Transcript::new().offered(&hello.versions).chosen(version).other(&hello.purpose);
    match channel {
        Some(channel) => said.channel(channel),
        None => said,
    }
}

fn invalid(malformed: Malformed) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, malformed)
}
