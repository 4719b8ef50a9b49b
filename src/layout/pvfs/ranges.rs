//! Which server of an OrangeFS file system has which handles, from the file system's configuration.

use super::super::Server;

/// Ranges of handles and their servers, as `<DataHandleRanges>` of the configuration has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// First and last handle of each, in order and apart.
    ranges: Vec<(u64, u64, Server)>,
}

impl Ranges {
    /// Read a configuration: lines like `Range server0 4-2305843009213693953`, of which there may be
    /// several ranges with commas between them. What is wrong is told with its line.
    pub fn parse(text: &str) -> Result<Ranges, String> {
        let mut ranges = Vec::new();
        let mut inside = false;
        for (number, line) in (1..).zip(text.lines()) {
            match line.trim() {
                "<DataHandleRanges>" => inside = true,
                "</DataHandleRanges>" => inside = false,
                line if inside && line.starts_with("Range ") => {
                    read(line, &mut ranges).map_err(|what| format!("line {number}: {what}"))?;
                }
                _ => {}
            }
        }
        if ranges.is_empty() {
            return Err("there is no <DataHandleRanges> with a line 'Range ALIAS FROM-TO'".into());
        }
        ranges.sort_unstable_by_key(|(first, ..)| *first);
        if let Some(pair) = ranges.windows(2).find(|pair| pair[0].1 >= pair[1].0) {
            return Err(format!("{} is in two ranges", pair[1].0));
        }
        Ok(Ranges { ranges })
    }

    /// The server that has this handle, if one of the ranges does.
    pub fn owner(&self, handle: u64) -> Option<Server> {
        let behind = self.ranges.partition_point(|(first, ..)| *first <= handle);
        let (_, last, server) = self.ranges.get(behind.checked_sub(1)?)?;
        (handle <= *last).then(|| server.clone())
    }
}

fn read(line: &str, ranges: &mut Vec<(u64, u64, Server)>) -> Result<(), String> {
    let mut words = line.split_whitespace().skip(1);
    let (Some(alias), Some(list)) = (words.next(), words.next()) else {
        return Err("write Range ALIAS FROM-TO".into());
    };
    for range in list.split(',') {
        let ends = range.split_once('-').and_then(|(first, last)| {
            Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
        });
        let Some((first, last)) = ends.filter(|(first, last)| first <= last) else {
            return Err(format!("'{range}' is no range of handles: write FROM-TO"));
        };
        ranges.push((first, last, Server::Alias(alias.into())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIGURATION: &str = "<FileSystem>\n  <MetaHandleRanges>\n    Range a 3-10\n  \
        </MetaHandleRanges>\n  <DataHandleRanges>\n    Range b 200-299,400-499\n    \
        Range a 100-199\n  </DataHandleRanges>\n</FileSystem>\n";

    #[test]
    fn a_handle_belongs_to_the_server_of_its_range() {
        let ranges = Ranges::parse(CONFIGURATION).expect("a good configuration");
        let owner = |handle| ranges.owner(handle).map(|server| server.to_string());
        assert_eq!(owner(100).as_deref(), Some("alias:a"));
        assert_eq!(owner(299).as_deref(), Some("alias:b"));
        assert_eq!(owner(450).as_deref(), Some("alias:b"));
        for nobody in [5, 99, 300, 500] {
            assert_eq!(owner(nobody), None, "{nobody}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = CONFIGURATION.replace("100-199", "199-100");
        assert_eq!(
            Ranges::parse(&wrong).expect_err("it ends before it begins"),
            "line 7: '199-100' is no range of handles: write FROM-TO"
        );
        let twice = CONFIGURATION.replace("100-199", "100-200");
        assert_eq!(Ranges::parse(&twice).expect_err("two own it"), "200 is in two ranges");
        assert!(Ranges::parse("").is_err());
    }
}
