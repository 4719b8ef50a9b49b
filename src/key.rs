//! The key that an agent and its clients share, and the file it is kept in.
//!
//! The file is text: one line of hexadecimal digits, at least 64 of them (32 bytes), and comments
//! that begin with `#`. It must belong to root or to the user of this process, and nobody else may
//! read or write it.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use zeroize::Zeroizing;

/// A shared key. Copies share its bytes, which are wiped with the last of them.
#[derive(Clone)]
pub struct Key(Arc<Zeroizing<Vec<u8>>>);

/// Why there is no key; the text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError(String);

impl Key {
    /// Read the key in a file, if the file is kept as a secret must be.
    pub fn load(path: &Path) -> Result<Key, KeyError> {
        let place = path.display();
        let fail = |what: String| KeyError(format!("the key file {place} {what}"));
        // A pipe in its place must not keep anybody waiting.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(|error| fail(format!("cannot be opened: {error}")))?;
        let found = file.metadata().map_err(|error| fail(format!("cannot be read: {error}")))?;
        if !found.is_file() {
            return Err(fail("is no file".into()));
        }
        let user = nix::unistd::geteuid().as_raw();
        check_keeping(found.mode(), found.uid(), user, path).map_err(fail)?;
        let text = read(file).map_err(|error| fail(format!("cannot be read: {error}")))?;
        Key::parse(&text).map_err(fail)
    }

    /// Make a new key, keep it in a file that does not exist yet, readable by its owner only.
    pub fn create(path: &Path) -> io::Result<()> {
        let text = Key::generate()?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        if written.is_err() {
            // Half a key is worse than none: it can neither be loaded nor created again.
            let _ = std::fs::remove_file(path);
        }
        written
    }

    /// The text of a new key file. It fails only if the kernel has no random bytes.
    pub fn generate() -> io::Result<Zeroizing<String>> {
        let mut bytes = Zeroizing::new([0; LEAST]);
        getrandom::fill(&mut bytes[..])?;
        let mut text = Zeroizing::new(String::with_capacity(HEADER.len() + 2 * LEAST + 1));
        text.push_str(HEADER);
        for byte in bytes.iter() {
            text.push(digit(byte >> 4));
            text.push(digit(byte & 0xf));
        }
        text.push('\n');
        Ok(text)
    }

    /// The key in the text of a key file, or what is wrong with it; never a part of the text.
    pub fn parse(text: &str) -> Result<Key, String> {
        let lines = text.lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (Some(line), more) = (lines.next(), lines.next()) else {
            return Err(format!("holds no key: {REMEDY}"));
        };
        if more.is_some() {
            return Err("holds more than one line beside comments: write the key in one".into());
        }
        let Some(bytes) = decode(line) else {
            let what = "holds something that is no key: an even number of hexadecimal digits";
            return Err(format!("{what} is meant; {REMEDY}"));
        };
        if bytes.len() < LEAST {
            let digits = 2 * LEAST;
            return Err(format!(
                "holds {} digits, at least {digits} are needed: {REMEDY}",
                line.len()
            ));
        }
        Ok(Key(Arc::new(bytes)))
    }

    /// The bytes, for whoever computes with them.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KeyError {}

/// Whether a file with this mode and owner is kept as a secret of this user.
fn check_keeping(mode: u32, owner: u32, user: u32, path: &Path) -> Result<(), String> {
    let place = path.display();
    if mode & 0o077 != 0 {
        return Err(format!(
            "is open to others than its owner (mode {:04o}), so that it is no secret: make a new \
             key if somebody may have read it, and keep it with: chmod 600 {place}",
            mode & 0o7777
        ));
    }
    if owner != 0 && owner != user {
        return Err(format!(
            "belongs to user {owner}, who could change it: give it to the user that runs iofwd \
             with: chown {user} {place}"
        ));
    }
    Ok(())
}

fn read(file: File) -> io::Result<Zeroizing<String>> {
    // Never grown, so that no copy of it is left behind.
    let mut text = Zeroizing::new(String::with_capacity(FILE_MOST + 1));
    let count = file.take(FILE_MOST as u64 + 1).read_to_string(&mut text)?;
    if count > FILE_MOST {
        let what = format!("it is longer than {FILE_MOST} bytes, and no key");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(text)
}

fn decode(digits: &str) -> Option<Zeroizing<Vec<u8>>> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let mut bytes = Zeroizing::new(Vec::with_capacity(digits.len() / 2));
    for pair in digits.as_bytes().chunks(2) {
        let [high, low] = pair else { return None };
        bytes.push(u8::try_from(value(*high)? << 4 | value(*low)?).ok()?);
    }
    Some(bytes)
}

fn digit(value: u8) -> char {
    char::from_digit(value.into(), 16).unwrap_or('0')
}

/// Bytes of a new key, and the least a key may have: as many as the hash it is used with.
const LEAST: usize = 32;
/// Bytes of a key file.
const FILE_MOST: usize = 4096;
const HEADER: &str =
    "# A key of iofwd: whoever has it can connect. Agent and clients need the same.\n";
const REMEDY: &str = "make one with iofwd key new FILE";

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    const DIGITS: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";

    /// A file of this text and mode, in a directory that goes with it.
    fn file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key");
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a mode");
        (directory, path)
    }

    fn refused(text: &str, mode: u32) -> String {
        let (_directory, path) = file(text, mode);
        Key::load(&path).expect_err("no good key").to_string()
    }

    #[test]
    fn a_key_is_read_with_comments_around_it() {
        let (_directory, path) = file(&format!("# ours\n\n  {DIGITS} \n# end"), 0o600);
        let key = Key::load(&path).expect("a key");
        assert_eq!(key.bytes(), (0..32).collect::<Vec<u8>>());
        let (_directory, path) = file(DIGITS, 0o400);
        assert!(Key::load(&path).is_ok());
    }

    #[test]
    fn files_open_to_others_are_refused() {
        for mode in [0o640, 0o604, 0o620, 0o602, 0o660, 0o777] {
            let refusal = refused(DIGITS, mode);
            assert!(refusal.contains("chmod 600"), "{refusal}");
            assert!(refusal.contains(&format!("mode {mode:04o}")), "{refusal}");
        }
    }

    #[test]
    fn files_of_somebody_else_are_refused() {
        let check = |owner, user| check_keeping(0o100_600, owner, user, Path::new("/k"));
        assert_eq!(check(0, 1000), Ok(()));
        assert_eq!(check(1000, 1000), Ok(()));
        assert_eq!(check(0, 0), Ok(()));
        assert!(check(1001, 1000).expect_err("another's").contains("chown 1000 /k"));
        assert!(check(1001, 0).expect_err("another's").contains("belongs to user 1001"));
    }

    #[test]
    fn what_is_no_key_is_refused_without_telling_it() {
        for (text, expected) in [
            ("", "holds no key: make one with iofwd key new FILE"),
            ("# only a comment\n", "holds no key"),
            (&DIGITS[2..], "holds 62 digits, at least 64 are needed"),
            (&DIGITS[1..], "an even number of hexadecimal digits"),
            ("secret word secret word secret word secret word secret word secret", "no key"),
            (&format!("{DIGITS}\n{DIGITS}"), "more than one line"),
            (&"0".repeat(5000), "longer than 4096 bytes"),
        ] {
            let refusal = refused(text, 0o600);
            assert!(refusal.contains(expected), "{refusal}");
            assert!(!refusal.contains("secret word") && !refusal.contains("0405"), "{refusal}");
        }
    }

    #[test]
    fn only_files_are_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let refusal = Key::load(directory.path()).expect_err("a directory").to_string();
        assert!(refusal.ends_with("is no file"), "{refusal}");
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).expect("a pipe");
        let refusal = Key::load(&pipe).expect_err("a pipe").to_string();
        assert!(refusal.ends_with("is no file"), "{refusal}");
        let refusal = Key::load(&directory.path().join("none")).expect_err("none").to_string();
        assert!(refusal.contains("cannot be opened: No such file"), "{refusal}");
    }

    #[test]
    fn new_keys_are_secret_and_differ() {
        let directory = tempfile::tempdir().expect("a directory");
        let keys = ["a", "b"].map(|name| {
            let path = directory.path().join(name);
            Key::create(&path).expect("a new key");
            let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
            assert_eq!(mode & 0o7777, 0o600);
            Key::load(&path).expect("the new key")
        });
        assert_eq!(keys[0].bytes().len(), 32);
        assert_ne!(keys[0].bytes(), keys[1].bytes());
    }

    #[test]
    fn a_key_is_never_replaced() {
        let (_directory, path) = file(DIGITS, 0o600);
        let error = Key::create(&path).expect_err("it is there");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).expect("the file"), DIGITS);
    }

    #[test]
    fn a_key_does_not_print() {
        assert_eq!(format!("{:?}", Key::parse(DIGITS)), "Ok(Key(..))");
    }
}
