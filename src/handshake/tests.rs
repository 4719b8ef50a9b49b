//! Handshakes that succeed, and attacks that do not.

use super::*;

fn key(byte: u8) -> Key {
    Key::parse(&format!("{byte:02x}").repeat(32)).expect("a key")
}

fn transcript() -> Transcript {
    Transcript::new().offered(&[2, 1]).chosen(2).export(b"scratch")
}

/// A whole handshake with these keys and views.
fn shake(client: &Key, agent: &Key, views: [&[u8]; 2]) -> (Result<Proof, Refused>, AgentHandshake) {
    let (client, hello) = ClientHandshake::start(client);
    let (agent, challenge) = AgentHandshake::respond(agent, &hello, views[1]);
    (client.finish(&challenge, views[0]), agent)
}

#[test]
fn the_same_key_and_the_same_view_are_believed() {
    let transcript = transcript();
    let view = transcript.bytes();
    let (proof, agent) = shake(&key(1), &key(1), [view, view]);
    assert_eq!(agent.verify(&proof.expect("a true agent")), Ok(()));
    let (proof, agent) = shake(&key(1), &key(1), [&[], &[]]);
    assert_eq!(agent.verify(&proof.expect("a true agent")), Ok(()));
}

#[test]
fn a_proof_is_what_it_always_was() {
    // Computed by openssl dgst -sha256 -mac HMAC, over the label, both nonces, and abc.
    let proof = proof::of(&key(1), Role::Client, &[2; 32], &[3; 32], b"abc");
    let digits: String = proof::bytes(proof).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digits, "4cab1ed1f2cfe6318537bf9956978db4e589f256b120565897bcff9fa63ff41c");
}

#[test]
fn an_agent_with_another_key_is_refused_and_learns_nothing() {
    let transcript = transcript();
    let view = transcript.bytes();
    let (proof, _) = shake(&key(1), &key(2), [view, view]);
    assert_eq!(proof, Err(Refused));
}

#[test]
fn a_client_with_another_key_is_refused() {
    let (_, hello) = ClientHandshake::start(&key(2));
    let (agent, challenge) = AgentHandshake::respond(&key(1), &hello, b"t");
    // A client that does not care whether the agent is true.
    let forged = proof::of(&key(2), Role::Client, &hello.nonce, &challenge.nonce, b"t");
    assert_eq!(agent.verify(&Proof { proof: proof::bytes(forged) }), Err(Refused));
}

#[test]
fn no_bit_of_a_proof_may_differ() {
    for bit in 0..8 * PROOF {
        let (proof, agent) = shake(&key(1), &key(1), [b"t", b"t"]);
        let mut proof = proof.expect("a true agent");
        proof.proof[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(agent.verify(&proof), Err(Refused), "bit {bit}");
    }
}

#[test]
fn an_old_proof_is_of_no_use_to_a_client() {
    let key = key(1);
    let (client, hello) = ClientHandshake::start(&key);
    let (agent, challenge) = AgentHandshake::respond(&key, &hello, b"t");
    let overheard = client.finish(&challenge, b"t").expect("a true agent");
    assert_eq!(agent.verify(&overheard), Ok(()));
    // The same hello again, and the same proof: the agent's nonce is another.
    let (agent, again) = AgentHandshake::respond(&key, &hello, b"t");
    assert_ne!(again.nonce, challenge.nonce);
    assert_eq!(agent.verify(&overheard), Err(Refused));
}

#[test]
fn an_old_challenge_is_of_no_use_to_an_agent() {
    let key = key(1);
    let (_, hello) = ClientHandshake::start(&key);
    let (_, overheard) = AgentHandshake::respond(&key, &hello, b"t");
    let (client, _) = ClientHandshake::start(&key);
    assert_eq!(client.finish(&overheard, b"t"), Err(Refused));
}

#[test]
fn the_agents_proof_sent_back_is_no_proof_of_a_client() {
    let (_, hello) = ClientHandshake::start(&key(1));
    let (agent, challenge) = AgentHandshake::respond(&key(1), &hello, b"t");
    assert_eq!(agent.verify(&Proof { proof: challenge.proof }), Err(Refused));
}

#[test]
fn an_agent_cannot_be_made_to_compute_the_clients_proof() {
    // The attacker has no key: it sends the first agent's nonce to a second one as its own.
    let key = key(1);
    let hello = Hello { nonce: [9; NONCE] };
    let (first, challenge) = AgentHandshake::respond(&key, &hello, b"t");
    let (_, oracle) = AgentHandshake::respond(&key, &Hello { nonce: challenge.nonce }, b"t");
    assert_eq!(first.verify(&Proof { proof: oracle.proof }), Err(Refused));
}

#[test]
fn views_that_differ_are_refused() {
    let ours = transcript();
    for theirs in [
        Transcript::new(),
        Transcript::new().offered(&[1]).chosen(1).export(b"scratch"),
        Transcript::new().offered(&[2, 1]).chosen(1).export(b"scratch"),
        Transcript::new().offered(&[2, 1]).chosen(2).export(b"home"),
        transcript().channel(&[0; 32]),
        transcript().other(b""),
    ] {
        let (proof, _) = shake(&key(1), &key(1), [ours.bytes(), theirs.bytes()]);
        assert_eq!(proof, Err(Refused), "{theirs:?}");
    }
}

#[test]
fn a_client_whose_view_was_forged_to_match_is_refused_by_the_agent() {
    // Somebody with the key on the client's side, but another view of the versions.
    let (client, hello) = ClientHandshake::start(&key(1));
    let (agent, challenge) = AgentHandshake::respond(&key(1), &hello, b"versions 2 1");
    assert_eq!(client.finish(&challenge, b"versions 1"), Err(Refused));
    let forged = proof::of(&key(1), Role::Client, &hello.nonce, &challenge.nonce, b"versions 1");
    assert_eq!(agent.verify(&Proof { proof: proof::bytes(forged) }), Err(Refused));
}

#[test]
fn nonces_are_new_every_time() {
    let nonces: std::collections::HashSet<_> =
        (0..100).map(|_| ClientHandshake::start(&key(1)).1.nonce).collect();
    assert_eq!(nonces.len(), 100);
}

#[test]
fn states_do_not_print_the_key() {
    let (client, hello) = ClientHandshake::start(&key(0xab));
    let (agent, _) = AgentHandshake::respond(&key(0xab), &hello, b"");
    assert!(format!("{client:?}").contains("Key(..)"));
    assert!(format!("{agent:?}").contains("Key(..)"));
}
