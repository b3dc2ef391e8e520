//! The cycle of transactions behind a finding, as a graph for Graphviz.

use std::fmt::Write as _;

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use crate::model::{TransactionCycle, TransactionId, printable};
use crate::reproducer::{CaseFile, CaseLine, Isolation, Note, Tag};

pub(super) struct Dot;

impl CaseFormat for Dot {
    fn name(&self) -> &'static str {
        "dot"
    }

    fn about(&self) -> &'static str {
        "the cycle of transactions as a graph for Graphviz, with their statements and answers"
    }

    fn extension(&self) -> &'static str {
        "dot"
    }

    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply> {
        match file.told_cycle() {
            Some(cycle) => Ok(Exported::of(graph(file, &cycle))),
            None => Err(DoesNotApply(
                "the file tells no cycle of transactions: findings of the oracles serial, isolation \
                 and history have one, among the comment lines of the header"
                    .to_owned(),
            )),
        }
    }
}

fn graph(file: &CaseFile, cycle: &TransactionCycle) -> String {
    let mut text = String::from("digraph cycle {\n  node [shape=box, fontname=\"monospace\"];\n");
    // Writing to a String cannot fail.
    let _ = writeln!(text, "  label={};", quoted(&title(file)));
    let mut drawn: Vec<TransactionId> = Vec::new();
    for step in cycle.steps() {
        if !drawn.contains(&step.from) {
            drawn.push(step.from);
            let label = transaction(file, step.from);
            // Each line ends with the mark that aligns it to the left.
            let label = quoted(&label).replace('\n', "\\l");
            let _ = writeln!(text, "  {} [label={label}];", step.from);
        }
    }
    for step in cycle.steps() {
        let label = quoted(&step.label);
        let _ = writeln!(text, "  {} -> {} [label={label}];", step.from, step.to);
    }
    text.push_str("}\n");
    text
}

/// `write-skew at SERIALIZABLE, mariadb 10.11.18`.
fn title(file: &CaseFile) -> String {
    let header = &file.header;
    let anomaly = header.anomaly.as_deref().or(header.kind.as_deref());
    let mut title = anomaly.unwrap_or("cycle of transactions").to_owned();
    if let Isolation::All(level) = &header.isolation {
        let _ = write!(title, " at {level}");
    }
    if let Some(engine) = &header.engine {
        let _ = write!(title, ", {engine}");
    }
    if let Some(version) = header.seen_on.first() {
        let _ = write!(title, " {version}");
    }
    title
}

/// The name and client of a transaction, then its statements with their answers, a line each.
fn transaction(file: &CaseFile, id: TransactionId) -> String {
    let is_of = |line: &&CaseLine| line.number.is_some_and(|number| number.transaction == id);
    let lines: Vec<&CaseLine> = file.lines.iter().filter(is_of).collect();
    let client = lines.first().and_then(|line| match line.tag {
        Tag::Session(session) => Some(session.0),
        Tag::Init | Tag::End => None,
    });
    let mut text = match client {
        Some(client) => format!("{id}, client {client}\n"),
        None => return id.to_string(),
    };
    for line in lines {
        let answer = |note: &Note| match note.name.as_str() {
            "got" => Some(note.text.clone()),
            "error" => Some(format!("error: {}", note.text)),
            _ => None,
        };
        let sql = line.sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let answer = line.notes.iter().find_map(answer);
        let answer = answer.map_or(String::new(), |answer| format!("  -- {answer}"));
        let _ = writeln!(text, "{sql}{answer}");
    }
    text
}

/// A string of the DOT language.
fn quoted(text: &str) -> String {
    let text = printable(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::reproducer::read;

    const SKEW: &str = "--! format = 1
--! engine = \"mariadb\"
--! seen_on = [\"10.11.18\"]
--! isolation = \"READ COMMITTED\"
--! anomaly = \"write-skew\"
--! oracle = \"serial\"
--! kind = \"not-serializable\"
--! # no serial order explains the run: T1 -rw(t0 row 2)-> T2 -rw(t0 row 1)-> T1
/* init */ CREATE TABLE t0 (a INT);
/* s1 T1.1 */ BEGIN;
/* s2 T2.1 */ BEGIN;
/* s1 T1.2 */ SELECT \"a\\b\" FROM t0; -- @got ('x')
/* s2 T2.2 */ UPDATE t0
  SET a = 1; -- @error deadlock
/* s1 T1.3 */ COMMIT;
/* s2 T2.3 */ COMMIT;
";

    #[test]
    fn the_cycle_is_drawn_with_the_statements_of_its_transactions() {
        let file = read(SKEW, "x.sql").unwrap();
        let expected = expect![[r#"
            digraph cycle {
              node [shape=box, fontname="monospace"];
              label="write-skew at READ COMMITTED, mariadb 10.11.18";
              T1 [label="T1, client 1\lBEGIN\lSELECT \"a\\b\" FROM t0  -- ('x')\lCOMMIT\l"];
              T2 [label="T2, client 2\lBEGIN\lUPDATE t0 SET a = 1  -- error: deadlock\lCOMMIT\l"];
              T1 -> T2 [label="rw(t0 row 2)"];
              T2 -> T1 [label="rw(t0 row 1)"];
            }
        "#]];
        expected.assert_eq(&Dot.write(&file).unwrap().text);
    }

    #[test]
    fn a_finding_without_a_cycle_is_refused() {
        for text in [
            SKEW.replace(" -rw(t0 row 1)-> T1", ""),
            SKEW.replace("not-serializable", "wrong-rows"),
            SKEW.replace("--! kind = \"not-serializable\"\n", ""),
        ] {
            let refused = Dot.write(&read(&text, "x.sql").unwrap()).unwrap_err();
            assert!(refused.to_string().contains("no cycle"), "{refused}");
        }
    }
}
