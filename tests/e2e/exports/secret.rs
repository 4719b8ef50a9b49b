//! Keys and encryption.

use std::fs;
use std::path::Path;

use crate::e2e::harness::{Agent, Mount};

use super::{iofwd, refused};

fn new_key(path: &Path) {
    let output = iofwd(&["key", "new", &path.display().to_string()]);
    assert!(output.status.success(), "{output:?}");
}

/// An agent with a key, which is in its room.
fn keyed(lines: &str) -> Option<Agent> {
    let maker = tempfile::tempdir().expect("a directory");
    let key = maker.path().join("key");
    new_key(&key);
    let kept = maker.keep().join("key");
    Agent::exporting(&format!("key_file = {kept:?}\n{lines}"), "squash = \"none\"")
}

fn key_of(agent: &Agent) -> String {
    let settings = fs::read_to_string(agent.file("agent.toml")).unwrap();
    let line = settings.lines().find_map(|line| line.strip_prefix("key_file = ")).unwrap();
    line.trim_matches('"').to_owned()
}

#[test]
fn only_who_has_the_key_is_let_in() {
    let Some(agent) = keyed("") else { return };
    let source = agent.over_tcp();
    let key = key_of(&agent);
    let mount = Mount::remote(&agent, &source, &["--key-file", &key]);
    fs::write(mount.path().join("a"), "x").unwrap();
    let said = refused(&[&source]);
    assert!(said.contains("--key-file"), "{said}");
    let room = tempfile::tempdir().unwrap();
    let other = room.path().join("other");
    new_key(&other);
    let other = other.display().to_string();
    let said = refused(&["--key-file", &other, &source]);
    assert!(said.contains("key"), "{said}");
    // A client must not talk to an agent that does not have its key either.
    let Some(open) = Agent::start("") else { return };
    let said = refused(&["--key-file", &key, &open.over_tcp()]);
    assert!(said.contains("prove"), "{said}");
    fs::remove_dir_all(Path::new(&key).parent().unwrap()).unwrap();
}

#[test]
fn a_key_that_others_can_read_is_no_key() {
    let room = tempfile::tempdir().unwrap();
    let key = room.path().join("key");
    new_key(&key);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&key, open).unwrap();
    let said = refused(&["--key-file", &key.display().to_string(), "127.0.0.1:1/x"]);
    assert!(said.contains("chmod 600"), "{said}");
}

/// A certificate for the loopback and its key, signed by itself.
fn certificate(room: &Path) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    fs::write(room.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(room.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(room.join("key.pem"), private).unwrap();
}

#[test]
fn an_encrypted_mount_is_a_mount() {
    let files = tempfile::tempdir().unwrap();
    certificate(files.path());
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| files.path().join(name));
    let tls = format!("[tls]\ncertificate = {certificate:?}\nprivate_key = {key:?}");
    let Some(agent) = keyed(&tls) else { return };
    let (source, secret) = (agent.over_tcp(), key_of(&agent));
    let authority = certificate.display().to_string();
    let options =
        ["--key-file", &secret, "--tls-ca", &authority, "--tls-name", "localhost", "--threads=8"];
    let mount = Mount::remote(&agent, &source, &options);
    let data: Vec<u8> = (0..3 << 20).map(|at: u32| (at / 7) as u8).collect();
    fs::write(mount.path().join("large"), &data).unwrap();
    assert_eq!(fs::read(mount.path().join("large")).unwrap(), data);
    assert_eq!(fs::read(mount.backing().join("large")).unwrap(), data);
    let said = refused(&["--key-file", &secret, &source]);
    assert!(said.contains("does not answer as an agent does"), "{said}");
    let other = ["--tls-name", "elsewhere.example"];
    let said = refused(
        &[&["--key-file", &secret, "--tls-ca", &authority], &other[..], &[&source]].concat(),
    );
    assert!(said.contains("no safe connection"), "{said}");
    drop(mount);
    fs::remove_dir_all(Path::new(&secret).parent().unwrap()).unwrap();
}

#[test]
fn wrong_keys_are_logged_with_their_address_and_made_to_wait() {
    let Some(agent) = keyed("") else { return };
    let room = tempfile::tempdir().unwrap();
    let wrong = room.path().join("wrong");
    new_key(&wrong);
    let (source, wrong) = (agent.over_tcp(), wrong.display().to_string());
    // An honest client notices the agent's proof first and goes away; this one does not care.
    let said: Vec<String> = (0..6).map(|_| try_blindly(&source)).collect();
    assert!(said[0].contains("another key"), "{said:?}");
    assert!(said.last().unwrap().contains("too many wrong keys"), "{said:?}");
    assert!(agent.said().contains("peer=127.0.0.1"), "{}", agent.said());
    let refused = refused(&["--key-file", &wrong, &source]);
    assert!(refused.contains("too many wrong keys"), "{refused}");
    fs::remove_dir_all(Path::new(&key_of(&agent)).parent().unwrap()).unwrap();
}

/// Show a proof that is none; what the agent says.
fn try_blindly(source: &str) -> String {
    use iofwd::wire::frame::{self, PREFIX, Prefix};
    use iofwd::wire::greeting::{Enter, Hello, Purpose, Reception};
    use std::io::{Read, Write};
    let address = source.split('/').next().unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let mut hear = |said: &[u8]| {
        stream.write_all(said).unwrap();
        let mut prefix = [0; PREFIX];
        stream.read_exact(&mut prefix).unwrap();
        let mut head = vec![0; Prefix::from_bytes(&prefix).unwrap().head];
        stream.read_exact(&mut head).unwrap();
        frame::decode::<Reception>(&head).unwrap()
    };
    let purpose = Purpose::Control { words: vec!["status".into()] };
    if let Reception::Refused(why) = hear(&frame::encode(&Hello::new(&purpose, [1; 32]), 0, 0)) {
        return why;
    }
    let reception = hear(&frame::encode(&Enter { proof: Some([0; 32]) }, 0, 0));
    let Reception::Refused(why) = reception else { panic!("let in with a false proof") };
    why
}
