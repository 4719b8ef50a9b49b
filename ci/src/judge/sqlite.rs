//! SQLite: it trusts locks, shared memory and the order of writes more than most programs do.
//! Writers and a reader at the same time, in each journal mode, with the file mapped.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::area::Area;
use crate::mounted::in_each_mode;
use crate::program::Cache;
use crate::site::Site;
use crate::stage::{Outcome, Verdict};
use crate::step::Step;

pub(crate) fn sqlite(site: &Site) -> Verdict {
    // The disk's own flushes would be most of the time, and are not what is judged.
    let area = |cache: Cache| Area::in_memory(site, &format!("sqlite-{}", cache.name()));
    in_each_mode(site, &Cache::ALL, area, |mounted, area| {
        let writer = area.beside.join("writer.sql");
        fs::write(&writer, transactions()).map_err(|e| format!("{}: {e}", writer.display()))?;
        for journal in ["wal", "delete", "truncate"] {
            judge(site, &mounted.path().join(journal), &writer, journal)?;
        }
        Ok(())
    })?;
    let load = format!("{WRITERS} writers of {TRANSACTIONS} transactions");
    Ok(Outcome::Passed(format!("{load}, 3 journal modes, in each cache mode")))
}

fn judge(site: &Site, database: &Path, writer: &Path, journal: &str) -> Result<(), String> {
    let ask = |sql: &str| {
        let patience = format!(".timeout {PATIENCE_MS}");
        Step::new("sqlite3").args(["-bail", "-cmd", &patience]).arg(database).arg(sql).run(site)
    };
    let mode = ask(&format!("PRAGMA journal_mode={journal}; CREATE TABLE t(writer, value);"))?;
    if mode.trim() != journal {
        return Err(format!("journal mode {journal} is refused: {mode}"));
    }
    concurrently(site, database, writer)?;
    let expected = (WRITERS * TRANSACTIONS * 2).to_string();
    let found = ask("PRAGMA integrity_check; SELECT count(*) FROM t; SELECT sum(value) FROM t;")?;
    let found: Vec<_> = found.split_whitespace().collect();
    if found == ["ok", &expected, "0"] {
        Ok(())
    } else {
        Err(format!("{journal}: wanted ok, {expected} rows of sum 0, got {found:?}"))
    }
}

/// Each transaction adds up to nothing; the reader must never see half of one.
fn concurrently(site: &Site, database: &Path, writer: &Path) -> Result<(), String> {
    let script = r#"
        pids=
        for n in $(seq "$3"); do
            sed "s/WRITER/$n/g" "$2" | sqlite3 -batch -bail "$1" > /dev/null & pids="$pids $!"
        done
        for n in $(seq 50); do
            sum=$(sqlite3 -batch -cmd ".timeout 60000" "$1" "SELECT coalesce(sum(value), 0) FROM t")
            [ "$sum" = 0 ] || { echo "a reader saw half a transaction: sum $sum"; exit 1; }
        done
        for pid in $pids; do wait "$pid"; done
    "#;
    let step = Step::shell(script).arg("sqlite").arg(database).arg(writer);
    step.arg(WRITERS.to_string()).run(site).map(drop)
}

/// The SQL of one writer.
fn transactions() -> String {
    let mut sql = format!(".timeout {PATIENCE_MS}\nPRAGMA mmap_size=67108864;\n");
    for n in 1..=TRANSACTIONS {
        // Writing to a string cannot fail.
        let _ = writeln!(
            sql,
            "BEGIN IMMEDIATE; INSERT INTO t VALUES (WRITER, {n}); \
             INSERT INTO t VALUES (WRITER, -{n}); COMMIT;"
        );
    }
    sql
}

const WRITERS: usize = 4;
const TRANSACTIONS: usize = 100;
/// How long a writer waits for the others, in milliseconds.
const PATIENCE_MS: usize = 60_000;
