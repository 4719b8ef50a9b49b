//! What the environment of a process says about its job.

use sha2::{Digest, Sha256};

/// A job as a variable names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// What people call it.
    pub(super) name: String,
    /// The number, if the variable holds one.
    pub(super) number: Option<u64>,
    /// 63 bits of a hash of the text.
    pub(super) hash: u64,
}

/// The job that the first of these variables names that is set and not empty.
pub(super) fn find(environment: &[u8], variables: &[String]) -> Option<Named> {
    let value = |variable: &String| {
        let mut entries = environment.split(|byte| *byte == 0);
        let value = entries
            .find_map(|entry| entry.strip_prefix(variable.as_bytes())?.strip_prefix(b"="))?;
        (!value.is_empty()).then_some(value)
    };
    variables.iter().find_map(value).map(named)
}

fn named(value: &[u8]) -> Named {
    let digits = value.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(value).ok().filter(|_| digits);
    Named {
        name: printable(value),
        number: number.and_then(|number| number.parse().ok()),
        hash: hash(value),
    }
}

/// The text without anything that could confuse a log or a table.
fn printable(value: &[u8]) -> String {
    let plain = |c: char| if c.is_ascii_graphic() { c } else { '?' };
    String::from_utf8_lossy(value).chars().take(NAME_MOST).map(plain).collect()
}

fn hash(value: &[u8]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = <[u8; 32]>::from(Sha256::digest(value));
    u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1
}

/// Letters of a name that are kept.
const NAME_MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(environment: &[u8]) -> Option<Named> {
        find(environment, &["SLURM_JOB_ID".into(), "PBS_JOBID".into()])
    }

    #[test]
    fn the_first_variable_that_is_set_and_not_empty_counts() {
        let name = |environment: &[u8]| found(environment).map(|named| named.name);
        assert_eq!(name(b"A=1\0PBS_JOBID=7\0SLURM_JOB_ID=42\0"), Some("42".into()));
        assert_eq!(name(b"SLURM_JOB_ID=\0PBS_JOBID=7.head\0"), Some("7.head".into()));
        assert_eq!(name(b"XSLURM_JOB_ID=1\0SLURM_JOB_ID_X=2\0SLURM_JOB_ID\0"), None);
        assert_eq!(name(b""), None);
        assert_eq!(name(b"PBS_JOBID=7"), Some("7".into()));
    }

    #[test]
    fn only_digits_are_a_number() {
        let number = |value: &str| named(value.as_bytes()).number;
        assert_eq!(number("42"), Some(42));
        assert_eq!(number("0"), Some(0));
        assert_eq!(number(&u64::MAX.to_string()), Some(u64::MAX));
        for text in ["+42", "-1", "4 2", "42.head", "ƒ2wXyz", "18446744073709551616"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn hashes_are_what_they_always_were() {
        // The first 16 digits of printf 42.head | sha256sum, shifted by one.
        assert_eq!(hash(b"42.head"), 0x4b7e_5c5e_9d0c_58aa >> 1);
    }

    #[test]
    fn names_are_printable_and_short() {
        assert_eq!(printable(b"a b\nc\x1b[0m\xff"), "a?b?c?[0m?");
        assert_eq!(printable(&[b'x'; 1000]).len(), NAME_MOST);
    }
}
