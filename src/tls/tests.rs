//! Real connections over loopback, with certificates made for the test.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::TcpListener;

use super::*;

/// An authority with its files in a directory of its own.
struct Authority {
    directory: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let directory = tempfile::tempdir().expect("a directory");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::default()).expect("good names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        std::fs::write(directory.path().join("ca.pem"), certificate.pem()).expect("a file");
        Authority { directory, issuer: Issuer::new(params, key) }
    }

    fn ca(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// A certificate for this name and its key.
    fn issue(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_string()]).expect("good names");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let path = |kind: &str| self.directory.path().join(format!("{name}.{kind}"));
        std::fs::write(path("pem"), certificate.pem()).expect("a file");
        std::fs::write(path("key"), key.serialize_pem()).expect("a file");
        set_mode(&path("key"), 0o600);
        (path("pem"), path("key"))
    }

    fn agent(&self, client_ca: Option<&Path>) -> AgentTls {
        let (certificate, key) = self.issue("agent.example");
        AgentTls::load(&certificate, &key, client_ca).expect("a good identity")
    }

    fn client(&self, name: &str) -> ClientTls {
        ClientTls::load(&self.ca(), name, None).expect("a good authority")
    }
}

fn set_mode(path: &Path, mode: u32) {
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions).expect("a mode");
}

type Agreed = Result<TlsStream<TcpStream>, TlsError>;

/// What both ends of a new connection say.
async fn meet(agent: &AgentTls, client: &ClientTls) -> (Agreed, Agreed) {
    let (server, stream) = connection().await;
    tokio::join!(agent.accept(server), client.connect(stream))
}

async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let (accepted, stream) = tokio::join!(listener.accept(), TcpStream::connect(address));
    (accepted.expect("a client").0, stream.expect("a connection"))
}

/// An encrypted connection whose two ends are relayed to plain ones, with the tasks that do it.
async fn relayed() -> ([UnixStream; 2], [tokio::task::JoinHandle<()>; 2]) {
    let authority = Authority::new();
    let (agent, client) = meet(&authority.agent(None), &authority.client("agent.example")).await;
    let (agent_end, agent_local) = UnixStream::pair().expect("a pair");
    let (client_end, client_local) = UnixStream::pair().expect("a pair");
    let tasks = [
        relay(agent.expect("TLS at the agent"), agent_local),
        relay(client.expect("TLS at the client"), client_local),
    ];
    ([agent_end, client_end], tasks)
}

fn pattern(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|index| ((index + seed) * 31 % 251) as u8).collect()
}

/// Write everything, say that it was all, and read to the end; on a thread of its own.
fn exchange(mut end: UnixStream, data: Vec<u8>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut reader = end.try_clone().expect("the same end again");
        let reading = thread::spawn(move || {
            let mut received = Vec::new();
            reader.read_to_end(&mut received).expect("all of it");
            received
        });
        end.write_all(&data).expect("all of it");
        end.shutdown(std::net::Shutdown::Write).expect("the end");
        reading.join().expect("no panic")
    })
}

async fn joined<T: Send + 'static>(thread: thread::JoinHandle<T>) -> T {
    tokio::task::spawn_blocking(|| thread.join().expect("no panic")).await.expect("no panic")
}

async fn ends(task: tokio::task::JoinHandle<()>) {
    let within = Duration::from_secs(20);
    tokio::time::timeout(within, task).await.expect("the relay ends").expect("no panic");
}

#[tokio::test]
async fn several_mebibytes_go_both_ways_at_once() {
    let ([agent, client], tasks) = relayed().await;
    let (down, up) = (pattern(1, 5 << 20), pattern(2, (7 << 20) + 13));
    let received = [exchange(agent, down.clone()), exchange(client, up.clone())];
    let [at_agent, at_client] = received;
    assert!(joined(at_agent).await == up, "the agent has other bytes than were sent");
    assert!(joined(at_client).await == down, "the client has other bytes than were sent");
    for task in tasks {
        ends(task).await;
    }
}

#[tokio::test]
async fn an_end_that_sends_no_more_can_still_read() {
    let ([mut agent, mut client], tasks) = relayed().await;
    let asked = thread::spawn(move || {
        client.write_all(b"question").expect("sent");
        client.shutdown(std::net::Shutdown::Write).expect("the end");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        answer
    });
    let answered = thread::spawn(move || {
        let mut question = String::new();
        agent.read_to_string(&mut question).expect("the whole question, and its end");
        agent.write_all(b"answer").expect("sent");
        question
    });
    assert_eq!(joined(answered).await, "question");
    assert_eq!(joined(asked).await, "answer");
    for task in tasks {
        ends(task).await;
    }
}

#[tokio::test]
async fn a_peer_that_never_closes_is_left_and_has_all_that_was_sent() {
    let ([mut agent, mut client], [at_agent, at_client]) = relayed().await;
    agent.write_all(b"the last words").expect("sent");
    drop(agent);
    // The client does not close until the agent's relay has ended.
    ends(at_agent).await;
    let read = thread::spawn(move || {
        let mut words = String::new();
        client.read_to_string(&mut words).expect("all, and its end");
        words
    });
    assert_eq!(joined(read).await, "the last words");
    ends(at_client).await;
}

#[tokio::test]
async fn what_a_peer_still_sends_does_not_harm_the_last_words() {
    let ([mut agent, client], [at_agent, _]) = relayed().await;
    // The client sends and sends, and nobody reads it.
    let mut writer = client.try_clone().expect("the same end again");
    let talking = thread::spawn(move || while writer.write_all(&[7; 4096]).is_ok() {});
    let words = pattern(3, 1 << 20);
    let reading = {
        let mut reader = client;
        let expected = words.len();
        thread::spawn(move || {
            let mut received = vec![0; expected];
            reader.read_exact(&mut received).expect("all of it");
            received
        })
    };
    let saying = words.clone();
    joined(thread::spawn(move || agent.write_all(&saying).expect("sent"))).await;
    assert!(joined(reading).await == words, "the client has other bytes than were sent");
    ends(at_agent).await;
    joined(talking).await;
}

#[tokio::test]
async fn a_peer_that_is_lost_ends_the_stream() {
    let authority = Authority::new();
    let (agent, client) = meet(&authority.agent(None), &authority.client("agent.example")).await;
    let (mut agent_end, local) = UnixStream::pair().expect("a pair");
    let task = relay(agent.expect("TLS at the agent"), local);
    // Gone without the end that TLS demands.
    drop(client.expect("TLS at the client"));
    let read = thread::spawn(move || agent_end.read(&mut [0; 16]).expect("the end"));
    assert_eq!(joined(read).await, 0);
    ends(task).await;
}

#[tokio::test]
async fn both_ends_export_the_same_and_every_connection_another() {
    let authority = Authority::new();
    let (agent, client) = (authority.agent(None), authority.client("agent.example"));
    let mut seen = Vec::new();
    for _ in 0..2 {
        let (at_agent, at_client) = meet(&agent, &client).await;
        let exported = exporter(&at_agent.expect("TLS")).expect("keys");
        assert_eq!(exporter(&at_client.expect("TLS")).expect("keys"), exported);
        seen.push(exported);
    }
    assert_ne!(seen[0], seen[1]);
}

#[tokio::test]
async fn an_agent_of_another_authority_or_name_is_refused() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let agent = authority.agent(None);
    let (at_agent, at_client) = meet(&agent, &stranger.client("agent.example")).await;
    let refusal = at_client.expect_err("another authority").to_string();
    assert!(refusal.contains("invalid peer certificate"), "{refusal}");
    assert!(at_agent.is_err());
    let (_, at_client) = meet(&agent, &authority.client("other.example")).await;
    let refusal = at_client.expect_err("another name").to_string();
    assert!(refusal.contains("other.example"), "{refusal}");
}

#[tokio::test]
async fn clients_need_a_certificate_where_the_agent_wants_one() {
    let (authority, clients, stranger) = (Authority::new(), Authority::new(), Authority::new());
    let agent = authority.agent(Some(&clients.ca()));
    let with = |from: &Authority| {
        let (certificate, private_key) = from.issue("client.example");
        let identity = Identity { certificate: &certificate, private_key: &private_key };
        ClientTls::load(&authority.ca(), "agent.example", Some(identity)).expect("good files")
    };
    let (at_agent, at_client) = meet(&agent, &with(&clients)).await;
    assert!(at_agent.is_ok() && at_client.is_ok());
    let (at_agent, _) = meet(&agent, &authority.client("agent.example")).await;
    assert!(at_agent.expect_err("no certificate").to_string().contains("no certificates"));
    let (at_agent, _) = meet(&agent, &with(&stranger)).await;
    let refusal = at_agent.expect_err("a stranger").to_string();
    assert!(refusal.contains("invalid peer certificate"), "{refusal}");
}

#[tokio::test]
async fn tls_1_2_is_refused() {
    let authority = Authority::new();
    let agent = authority.agent(None);
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS12])
        .expect("the test knows it")
        .with_root_certificates(pem::roots(&authority.ca()).expect("roots"))
        .with_no_client_auth();
    let name = ServerName::try_from("agent.example").expect("a name");
    let old = ClientTls { connector: TlsConnector::from(Arc::new(config)), agent: name };
    let (at_agent, at_client) = meet(&agent, &old).await;
    assert!(at_agent.is_err());
    let refusal = at_client.expect_err("too old").to_string();
    assert!(refusal.contains("ProtocolVersion"), "{refusal}");
}

#[tokio::test]
async fn what_is_no_tls_is_refused() {
    let authority = Authority::new();
    let agent = authority.agent(None);
    let (server, stream) = connection().await;
    let mut stream = stream.into_std().expect("a plain stream");
    stream.set_nonblocking(false).expect("blocking");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    assert!(agent.accept(server).await.expect_err("no TLS").to_string().starts_with("no TLS: "));
}

#[test]
fn files_that_will_not_do_are_named() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue("agent.example");
    let load = |certificate: &Path, key: &Path, ca: Option<&Path>| {
        AgentTls::load(certificate, key, ca).expect_err("bad files").to_string()
    };
    let missing = Path::new("/no/such.pem");
    assert!(load(missing, &key, None).starts_with("/no/such.pem holds no certificate in PEM: "));
    assert!(load(&certificate, missing, None).starts_with("/no/such.pem: No such file"));
    assert!(load(&certificate, &certificate, None).contains("agent.example.pem is open to others"));
    assert!(load(&certificate, &key, Some(&key)).ends_with("holds no certificate in PEM"));
    let other = authority.issue("other.example").1;
    assert!(load(&certificate, &other, None).contains("agent.example.pem: "), "not its key");
    for mode in [0o604, 0o644, 0o620] {
        set_mode(&key, mode);
        assert!(load(&certificate, &key, None).contains("chmod 600"));
    }
    set_mode(&key, 0o640);
    assert!(AgentTls::load(&certificate, &key, None).is_ok());
    let name = ClientTls::load(&authority.ca(), "no name", None).expect_err("no name");
    assert!(name.to_string().contains("'no name' is neither the name nor the address"));
}
