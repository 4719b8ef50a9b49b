//! Where in a scenario file something is wrong: the line, and the field with the table it stands in.

/// What is wrong, with file, line and field.
pub(super) fn located(error: &toml::de::Error, text: &str, place: &str) -> String {
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    let Some(span) = error.span() else { return format!("{place}: {message}") };
    let before = &text[..span.start.min(text.len())];
    let number = before.matches('\n').count() + 1;
    match field(text, number) {
        Some(field) => format!("{place}:{number}: {field}: {message}"),
        None => format!("{place}:{number}: {message}"),
    }
}

/// The field that a line sets, behind the name of its table.
fn field(text: &str, number: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(number).map(str::trim).collect();
    let header = |line: &&&str| line.starts_with('[') && line.contains(']') && !line.contains('=');
    let table = lines.iter().rev().find(header).map(|line| {
        line.split('#').next().unwrap_or_default().trim().trim_matches(['[', ']']).trim()
    });
    let setting = lines.last().and_then(|line| line.split_once('='));
    let key = setting.map(|(key, _)| key.trim()).filter(|key| !key.is_empty());
    match (table, key) {
        (Some(table), Some(key)) => Some(format!("{table}.{key}")),
        (Some(table), None) => Some(format!("[{table}]")),
        (None, key) => key.map(String::from),
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_field_is_named_with_its_table() {
        let text = "seed = 1\n\n[platform] # machines\nservers = 4\n[[job]]\nprocesses = 3\n";
        let found = [1, 2, 3, 4, 6].map(|line| field(text, line));
        let expected = [
            Some("seed"),
            None,
            Some("[platform]"),
            Some("platform.servers"),
            Some("job.processes"),
        ];
        assert_eq!(found, expected.map(|name| name.map(String::from)));
    }
}
