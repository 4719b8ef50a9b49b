//! Numbers as people read them: three digits and a unit.

/// Bytes: `64.0 KiB`.
pub fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// Bytes a second: `118 MiB/s`.
pub fn rate(bytes_a_second: f64) -> String {
    format!("{}/s", scaled(bytes_a_second, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"]))
}

/// A count: `12.3k`.
pub fn count(count: f64) -> String {
    scaled(count, 1000.0, &["", "k", "M", "G", "T"]).replace(' ', "")
}

/// Nanoseconds: `1.20 ms`.
pub fn time(nanos: u64) -> String {
    let nanos = nanos as f64;
    if nanos >= 1e9 { seconds(nanos / 1e9) } else { scaled(nanos, 1000.0, &["ns", "us", "ms"]) }
}

/// A share: `12 %`.
pub fn share(share: f64) -> String {
    format!("{:.0} %", share.clamp(0.0, 1.0) * 100.0)
}

fn seconds(seconds: f64) -> String {
    let whole = seconds as u64;
    match whole {
        0..100 => format!("{} s", digits(seconds)),
        100..6_000 => format!("{} min", whole / 60),
        6_000..172_800 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3600),
    }
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = 0;
    while value >= step * 0.9995 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let number = if unit == 0 { format!("{value:.0}") } else { digits(value) };
    format!("{number} {}", units[unit])
}

/// Three digits that count.
fn digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(65_536), "64.0 KiB");
        assert_eq!(bytes(1_048_575), "1.00 MiB");
        assert_eq!(rate(123_456_789.0), "118 MiB/s");
        assert_eq!(count(12_345.0), "12.3k");
        assert_eq!(count(999.0), "999");
        assert_eq!(time(1_200_000), "1.20 ms");
        assert_eq!(time(15), "15 ns");
        assert_eq!(time(12_000_000_000), "12.0 s");
        assert_eq!(time(7_500_000_000_000), "2 h 5 min");
        assert_eq!(share(0.123), "12 %");
    }
}
