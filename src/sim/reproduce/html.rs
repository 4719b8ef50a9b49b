//! The report as one page of HTML that needs nothing from elsewhere: charts are part of it.

use std::fmt::Write;

use super::calibration::{MODEL, USED};
use super::{Report, Section, Table, Verdict};
use crate::sim::drawing::escaped;

/// The page.
pub(super) fn page(report: &Report) -> String {
    let mut body = format!("<h1>{TITLE}</h1>\n<p>{INTRODUCTION}</p>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(body, "<p>{}</p>", escaped(&report.effort_in_words()));
    body += &verdicts(&report.verdicts);
    body += &contents(&report.sections);
    body += &calibration();
    for section in &report.sections {
        body += &one(section);
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{TITLE}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

fn verdicts(verdicts: &[Verdict]) -> String {
    let met = verdicts.iter().filter(|verdict| verdict.met).count();
    let mut text = format!(
        "<h2>In short</h2>\n<p><strong>{met} of {} things that matter come out as published.</strong></p>\n\
         <table class=\"verdicts\">\n<tr><th></th><th>what</th><th>published</th><th>ours</th></tr>\n",
        verdicts.len()
    );
    for verdict in verdicts {
        let Verdict { what, published, ours, .. } = verdict;
        let (class, mark) = if verdict.met { ("met", "met") } else { ("gap", "gap") };
        let ours = format!("{ours}{}", verdict.because());
        let cells = [what, published, &ours].map(|cell| format!("<td>{}</td>", escaped(cell)));
        let _ = writeln!(
            text,
            "<tr><td><span class=\"{class}\">{mark}</span></td>{}</tr>",
            cells.concat()
        );
    }
    text + "</table>\n"
}

fn contents(sections: &[Section]) -> String {
    let mut text = String::from("<h2>Contents</h2>\n<ul class=\"contents\">\n");
    for Section { id, title, .. } in sections {
        let _ = writeln!(text, "<li><a href=\"#{id}\">{}</a></li>", escaped(title));
    }
    text + "</ul>\n"
}

fn calibration() -> String {
    let mut text = format!(
        "<h2>The model and its calibration</h2>\n<p>{}</p>\n<p>Chosen once, from these published numbers, and \
         held for all others:</p>\n",
        MODEL.map(escaped).join("</p>\n<p>")
    );
    let mut table = Table::new(&["published", "decides"]);
    for (published, decided) in USED {
        table.row(vec![published.into(), decided.into()]);
    }
    text += &tabular(&table, "words");
    text
}

fn one(section: &Section) -> String {
    let Section { id, title, published, ours, tables, charts } = section;
    let mut text = format!(
        "<h2 id=\"{id}\">{}</h2>\n<p><b>Published.</b> {}</p>\n<p><b>Ours.</b> {}</p>\n",
        escaped(title),
        escaped(published),
        escaped(ours)
    );
    for chart in charts {
        let _ = writeln!(text, "<figure>\n{}</figure>", chart.drawing.svg());
    }
    for table in tables {
        text += &tabular(table, "numbers");
    }
    text
}

fn tabular(table: &Table, class: &str) -> String {
    let row = |cells: &[String], tag: &str| {
        let cells: Vec<_> =
            cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
        format!("<tr>{}</tr>\n", cells.concat())
    };
    let mut text =
        format!("<div class=\"wide\"><table class=\"{class}\">\n{}", row(&table.head, "th"));
    text.extend(table.rows.iter().map(|cells| row(cells, "td")));
    text + "</table></div>\n"
}

pub(super) const TITLE: &str = "TWINS, published and simulated";

pub(super) const INTRODUCTION: &str = "J. L. Bez, “Evaluating I/O Scheduling Techniques at the Forwarding Layer and \
    Coordinating Data Server Accesses” (UFRGS, 2016), measured I/O schedulers on 32 client nodes, up to 8 I/O nodes \
    and 4 data servers. Here the same experiments are simulated with the schedulers of iofwd. For each table and \
    figure: the published number beside ours, the difference, and in words where the model differs and why.";

const STYLE: &str = "body { max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #22262b; background: #ffffff;\n\
    \x20 font: 16px/1.5 'DejaVu Sans', Verdana, Arial, sans-serif; }\n\
    h1 { font-size: 1.7em; margin-bottom: 0.3em; }\n\
    h2 { font-size: 1.25em; margin: 2.2em 0 0.5em; padding-top: 0.6em; border-top: 1px solid #dde1e5; }\n\
    table { border-collapse: collapse; font-size: 0.8em; margin: 0.8em 0; }\n\
    th, td { padding: 0.25em 0.7em; border-bottom: 1px solid #dde1e5; text-align: left; vertical-align: top; }\n\
    th { background: #f3f5f7; }\n\
    .numbers td { white-space: nowrap; font-variant-numeric: tabular-nums; }\n\
    .wide { overflow-x: auto; }\n\
    figure { margin: 1em 0; overflow-x: auto; }\n\
    svg { max-width: 100%; height: auto; }\n\
    .met, .gap { display: inline-block; padding: 0 0.5em; border-radius: 0.6em; color: #ffffff; font-weight: bold; }\n\
    .met { background: #1a7f4b; }\n\
    .gap { background: #b3541e; }\n\
    .contents { columns: 2; font-size: 0.9em; }\n\
    a { color: #005a9c; }\n";
