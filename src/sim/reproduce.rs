//! Lays a publication beside the model: every table and figure that it can speak to is simulated, and the
//! published number stands beside ours, with the difference and its reason.

mod beyond;
mod calibration;
mod collective;
mod html;
mod makespans;
mod markdown;
mod measure;
mod nodes;
mod pair;
mod published;
mod tables;
mod verdicts;
mod windows;

use std::fs;
use std::path::Path;

use super::drawing::Drawing;
use measure::Laboratory;
use published::Thesis;

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// All of the published volume; eight repetitions, three in the sweeps.
    Full,
    /// A thirty-second of it, twice, once in the sweeps: to have a look.
    Quick,
}

/// A report: what was found, in words, tables and charts.
#[derive(Clone, Debug)]
pub struct Report {
    effort: Effort,
    seed: u64,
    verdicts: Vec<Verdict>,
    sections: Vec<Section>,
}

/// Whether something that matters came out.
#[derive(Clone, Debug)]
struct Verdict {
    what: String,
    published: String,
    ours: String,
    met: bool,
    /// Why it does not come out, if it does not.
    reason: &'static str,
}

/// A table or figure of the publication, and ours.
#[derive(Clone, Debug, Default)]
struct Section {
    /// For file names and links.
    id: String,
    title: String,
    /// What was published, in words.
    published: String,
    /// What the model says about it, in words.
    ours: String,
    tables: Vec<Table>,
    charts: Vec<Chart>,
}

#[derive(Clone, Debug, Default)]
struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
struct Chart {
    file: String,
    drawing: Drawing,
}

/// Simulates what the TWINS thesis shows.
pub fn thesis(effort: Effort, seed: u64) -> Result<Report, String> {
    let thesis = Thesis::read()?;
    let mut keys = tables::keys();
    keys.extend(makespans::keys());
    keys.extend(windows::keys());
    keys.extend(nodes::keys());
    let laboratory = Laboratory::of(effort, seed, keys)?;
    let mut sections = tables::sections(&laboratory, &thesis)?;
    sections.extend(makespans::chapter_three(&laboratory, &thesis)?);
    sections.extend(makespans::chapter_four(&laboratory, &thesis)?);
    sections.extend(windows::chapter_four(&laboratory)?);
    sections.extend(makespans::chapter_five(&laboratory, &thesis)?);
    sections.extend(windows::chapter_five(&laboratory)?);
    sections.push(collective::section(effort, seed, &laboratory)?);
    sections.extend(nodes::sections(&laboratory)?);
    let pairs = pair::measure(effort, seed)?;
    sections.extend(pair::sections(&pairs, &thesis));
    sections.extend(beyond::sections(effort, seed, &laboratory)?);
    let verdicts = verdicts::all(&laboratory)?;
    Ok(Report { effort, seed, verdicts, sections })
}

/// Writes a report into a directory: HTML, Markdown, and every chart as SVG and PNG. Says how many files.
pub fn write(report: &Report, directory: &Path) -> Result<usize, String> {
    let place = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    fs::create_dir_all(directory).map_err(|error| place(directory, &error))?;
    let mut files = vec![
        ("report.html".to_string(), html::page(report).into_bytes()),
        ("report.md".to_string(), markdown::page(report).into_bytes()),
    ];
    for Chart { file, drawing } in report.sections.iter().flat_map(|section| &section.charts) {
        files.push((format!("{file}.svg"), drawing.svg().into_bytes()));
        files.push((format!("{file}.png"), drawing.png()?));
    }
    for (name, bytes) in &files {
        let path = directory.join(name);
        fs::write(&path, bytes).map_err(|error| place(&path, &error))?;
    }
    Ok(files.len())
}

impl Report {
    /// The verdicts as lines of text.
    pub fn verdicts_in_words(&self) -> String {
        let line = |one: &Verdict| {
            let Verdict { what, published, ours, .. } = one;
            let mark = if one.met { "met" } else { "GAP" };
            format!("{mark}  {what}: published {published}; ours {ours}{}", one.because())
        };
        self.verdicts.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What was simulated, in a sentence.
    fn effort_in_words(&self) -> String {
        let how = match self.effort {
            Effort::Full => {
                "all of the published volume (4 GiB in each experiment), eight repetitions with different \
                 seeds, three in the sweeps over windows and I/O nodes"
            }
            Effort::Quick => {
                "a thirty-second of the published volume, twice, times scaled up: a quick look, the \
                 numbers are rough"
            }
        };
        format!("Simulated: {how}. Seed {}.", self.seed)
    }
}

impl Verdict {
    /// The reason for a gap, behind a semicolon; nothing if there is none.
    fn because(&self) -> String {
        if self.met { String::new() } else { format!("; {}", self.reason) }
    }
}

impl Table {
    fn new(head: &[&str]) -> Table {
        Table { head: head.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

/// A number with its sign.
fn signed(value: f64, digits: usize) -> String {
    let text = format!("{value:+.digits$}");
    match text.trim_start_matches(['+', '-', '0', '.']) {
        // Neither more nor less.
        "" => format!("{:.digits$}", 0.0),
        _ => text.replace('-', "−"),
    }
}

/// By how many percent one time is shorter than another.
fn shorter(one: f64, other: f64) -> f64 {
    (1.0 - one / other) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_written_where_there_is_a_difference() {
        assert_eq!([1.04, -2.0, -0.01].map(|value| signed(value, 1)), ["+1.0", "−2.0", "0.0"]);
        assert_eq!([0.4, 10.0].map(|value| signed(value, 0)), ["0", "+10"]);
        assert!((shorter(3.0, 4.0) - 25.0).abs() < 1e-9);
    }
}
