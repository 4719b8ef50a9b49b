//! TLS 1.3 for TCP connections, and nothing older.
//!
//! The rest of the program does not know of it: [`relay`] turns an encrypted connection into one end
//! of a pair of unix sockets, whose other end looks like any plain connection. What [`exporter`]
//! returns belongs into the transcript of the handshake, so that the proofs of the key hold for this
//! connection and no other.
//!
//! Trust comes from the files given, never from the system's store: who can get a certificate from
//! anybody in there is no agent of ours.

mod pem;
mod relay;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

pub use relay::relay;

/// The agent's side.
#[derive(Clone)]
pub struct AgentTls {
    acceptor: TlsAcceptor,
}

/// The client's side, for one agent.
#[derive(Clone)]
pub struct ClientTls {
    connector: TlsConnector,
    agent: ServerName<'static>,
}

/// A certificate and its private key, each a PEM file.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'p> {
    /// The certificate, and those between it and the root.
    pub certificate: &'p Path,
    /// The private key; nobody but its owner and its group may read it.
    pub private_key: &'p Path,
}

/// Why there is no TLS; the text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError(String);

impl AgentTls {
    /// Load the agent's identity. With a `client_ca`, clients must have a certificate from there.
    pub fn load(
        certificate: &Path,
        private_key: &Path,
        client_ca: Option<&Path>,
    ) -> Result<AgentTls, TlsError> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(VERSIONS)
            .map_err(|error| TlsError(error.to_string()))?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let roots = Arc::new(pem::roots(path)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
                let verifier = verifier.build().map_err(|error| explain(path, &error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let (chain, key) = pem::identity(Identity { certificate, private_key })?;
        let mut config =
            builder.with_single_cert(chain, key).map_err(|error| explain(certificate, &error))?;
        config.alpn_protocols = vec![PROTOCOL.into()];
        // Nobody comes back often enough for tickets to pay.
        config.send_tls13_tickets = 0;
        Ok(AgentTls { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    /// Agree on keys with a client that has connected.
    pub async fn accept(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>, TlsError> {
        in_time(self.acceptor.accept(stream)).await.map(TlsStream::Server)
    }
}

impl ClientTls {
    /// Load the certificates that may vouch for the agent of this name (or address), and the
    /// client's own identity if the agent wants one.
    pub fn load(
        agent_ca: &Path,
        agent: &str,
        identity: Option<Identity<'_>>,
    ) -> Result<ClientTls, TlsError> {
        let agent = ServerName::try_from(agent.to_string()).map_err(|_| {
            TlsError(format!("'{agent}' is neither the name nor the address of a host"))
        })?;
        let roots: RootCertStore = pem::roots(agent_ca)?;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(VERSIONS)
            .map_err(|error| TlsError(error.to_string()))?
            .with_root_certificates(roots);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = pem::identity(identity)?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| explain(identity.certificate, &error))?
            }
        };
        config.alpn_protocols = vec![PROTOCOL.into()];
        Ok(ClientTls { connector: TlsConnector::from(Arc::new(config)), agent })
    }

    /// Agree on keys with the agent. That it refuses the client's certificate shows only when
    /// something is read from it.
    pub async fn connect(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>, TlsError> {
        let agent = self.agent.clone();
        in_time(self.connector.connect(agent, stream)).await.map(TlsStream::Client)
    }
}

/// Bytes that both ends of this connection know, and nobody else does (RFC 9266).
pub fn exporter<T>(stream: &TlsStream<T>) -> Result<[u8; 32], TlsError> {
    let bytes = [0; 32];
    match stream {
        TlsStream::Client(stream) => {
            stream.get_ref().1.export_keying_material(bytes, EXPORTER, Some(&[]))
        }
        TlsStream::Server(stream) => {
            stream.get_ref().1.export_keying_material(bytes, EXPORTER, Some(&[]))
        }
    }
    .map_err(|error| TlsError(error.to_string()))
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

impl fmt::Debug for AgentTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentTls(..)")
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Whoever does not finish in time is given up.
async fn in_time<T>(agreement: impl Future<Output = io::Result<T>>) -> Result<T, TlsError> {
    match tokio::time::timeout(AGREEMENT, agreement).await {
        Ok(result) => result.map_err(|error| TlsError(format!("no TLS: {error}"))),
        Err(_) => Err(TlsError(format!("no TLS: no answer within {} s", AGREEMENT.as_secs()))),
    }
}

fn explain(path: &Path, error: &dyn fmt::Display) -> TlsError {
    TlsError(format!("{}: {error}", path.display()))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

static VERSIONS: &[&SupportedProtocolVersion] = &[&TLS13];
/// What is spoken inside (ALPN), so that no other server with our certificate is taken for an agent.
const PROTOCOL: &[u8] = b"iofwd";
const EXPORTER: &[u8] = b"EXPORTER-Channel-Binding";
/// How long the two may take to agree on keys.
const AGREEMENT: Duration = Duration::from_secs(10);
