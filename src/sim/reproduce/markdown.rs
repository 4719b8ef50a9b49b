//! The report as Markdown, with the charts beside it as files.

use std::fmt::Write;

use super::calibration::{MODEL, USED};
use super::html::{INTRODUCTION, TITLE};
use super::{Report, Table, Verdict};

/// The page.
pub(super) fn page(report: &Report) -> String {
    let mut text =
        format!("# {TITLE}\n\n{INTRODUCTION}\n\n{}\n\n## In short\n\n", report.effort_in_words());
    let mut verdicts = Table::new(&["", "what", "published", "ours"]);
    for verdict in &report.verdicts {
        let Verdict { what, published, ours, .. } = verdict;
        let mark = if verdict.met { "met" } else { "**gap**" };
        let ours = format!("{ours}{}", verdict.because());
        verdicts.row(vec![mark.into(), what.clone(), published.clone(), ours]);
    }
    text += &tabular(&verdicts);
    text += "\n## The model and its calibration\n\n";
    text += &MODEL.join("\n\n");
    text += "\n\nChosen once, from these published numbers, and held for all others:\n\n";
    let mut used = Table::new(&["published", "decides"]);
    for (published, decided) in USED {
        used.row(vec![published.into(), decided.into()]);
    }
    text += &tabular(&used);
    for section in &report.sections {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n## {}\n\n**Published.** {}\n\n**Ours.** {}\n",
            section.title, section.published, section.ours
        );
        for chart in &section.charts {
            let _ = write!(text, "\n![{}]({}.svg)\n", section.title, chart.file);
        }
        for table in &section.tables {
            text += "\n";
            text += &tabular(table);
        }
    }
    text
}

fn tabular(table: &Table) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = vec!["---".to_string(); table.head.len()];
    let mut text = row(&table.head) + &row(&rule);
    text.extend(table.rows.iter().map(|cells| row(cells)));
    text
}
