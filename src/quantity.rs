//! Sizes and times as people type them, and written back the same way.

use iofwd_scheduler::time::Span;

/// A number of bytes: `4096`, `64K`, `1M`, `2GiB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = parts(text);
    let shift = match unit.trim_end_matches("iB").trim_end_matches(['B', 'b']) {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        _ => return Err(format!("'{text}' is no size: write for example 4096, 64K or 1M")),
    };
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("'{text}' is no size: write for example 4096, 64K or 1M"))
}

/// A length of time: `125us`, `1ms`, `2s`.
pub fn span(text: &str) -> Result<Span, String> {
    let (number, unit) = parts(text);
    let nanos = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(format!("'{text}' is no time: write for example 125us, 1ms or 2s")),
    };
    number
        .and_then(|number| number.checked_mul(nanos))
        .filter(|nanos| *nanos > 0)
        .map(Span::from_nanos)
        .ok_or_else(|| format!("'{text}' is no time: write for example 125us, 1ms or 2s"))
}

/// A number of bytes in the largest unit that leaves no rest: `64K`.
pub fn show_bytes(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let whole = |shift: u32| bytes > 0 && bytes.trailing_zeros() >= shift;
    match units.into_iter().find(|(shift, _)| whole(*shift)) {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// A length of time in the largest unit that leaves no rest: `125us`.
pub fn show_span(span: Span) -> String {
    let nanos = span.as_nanos();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.into_iter().find(|(unit, _)| nanos.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", nanos / unit),
        None => format!("{nanos}ns"),
    }
}

fn parts(text: &str) -> (Option<u64>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), text[end..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("64K"), Ok(65536));
        assert_eq!(bytes("2MiB"), Ok(2 << 20));
        for wrong in ["", "K", "0", "-1", "64X", "99999999999999999999", "20000000000G"] {
            assert!(bytes(wrong).unwrap_err().contains("64K"), "{wrong}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(span("125us"), Ok(Span::from_micros(125)));
        assert_eq!(span("1 ms"), Ok(Span::from_millis(1)));
        for wrong in ["", "5", "ms", "0s", "1h"] {
            assert!(span(wrong).unwrap_err().contains("1ms"), "{wrong}");
        }
    }

    #[test]
    fn what_is_shown_can_be_typed() {
        for text in ["1", "4095", "64K", "512M", "3G", "1025M"] {
            assert_eq!(bytes(text).map(show_bytes).as_deref(), Ok(text));
        }
        for text in ["1ns", "125us", "1ms", "1500ms", "30s"] {
            assert_eq!(span(text).map(show_span).as_deref(), Ok(text));
        }
    }
}
