//! [`CaseFile`] to text, in one canonical form.

use std::fmt::Write as _;

use super::{CaseFile, CaseLine, FORMAT_VERSION, Header, Isolation, Note, SessionSetup};
use crate::model::Pace;

/// Comments and notes begin behind this many columns, where the line leaves room.
const COMMENT_COLUMN: usize = 43;

/// The canonical text of a case file: reading it gives the same file again.
pub fn write(file: &CaseFile) -> String {
    let mut text = header(&file.header);
    for line in &file.lines {
        for comment in &line.comments {
            text.push_str(&comment_line("--", comment));
        }
        text.push_str(&statement(line));
    }
    for comment in &file.last_comments {
        text.push_str(&comment_line("--", comment));
    }
    text
}

fn comment_line(marker: &str, comment: &str) -> String {
    if comment.is_empty() {
        format!("{marker}\n")
    } else {
        format!("{marker} {comment}\n")
    }
}

fn statement(line: &CaseLine) -> String {
    let number = line.number.map_or(String::new(), |id| format!(" {id}"));
    let mut text = format!("/* {}{number} */ {};", line.tag, line.sql);
    let mut parts = Vec::new();
    if !line.remark.is_empty() {
        parts.push(line.remark.clone());
    }
    parts.extend(line.notes.iter().map(|Note { name, text }| {
        let blank = if text.is_empty() { "" } else { " " };
        format!("@{name}{blank}{text}")
    }));
    if !parts.is_empty() {
        let last = text.rsplit('\n').next().unwrap_or(&text);
        let missing = COMMENT_COLUMN.saturating_sub(last.chars().count());
        text.push_str(&" ".repeat(missing));
        text.push_str(" -- ");
        text.push_str(&parts.join("  "));
    }
    text.push('\n');
    text
}

fn header(header: &Header) -> String {
    let mut text = String::new();
    for (key, value) in entries(header) {
        for comment in header.comments.before.get(key).into_iter().flatten() {
            text.push_str(&comment_line("--! #", comment));
        }
        let mut line = format!("--! {key} = {value}");
        if let Some(comment) = header.comments.behind.get(key) {
            let last = line.rsplit('\n').next().unwrap_or(&line);
            let missing = COMMENT_COLUMN.saturating_sub(last.chars().count());
            let _ = write!(line, "{} # {comment}", " ".repeat(missing));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for comment in &header.comments.last {
        text.push_str(&comment_line("--! #", comment));
    }
    text
}

/// Every key that is set, in canonical order, with its TOML value.
fn entries(header: &Header) -> Vec<(&'static str, String)> {
    let mut entries = vec![("format", FORMAT_VERSION.to_string())];
    let mut add = |key, value: Option<String>| entries.extend(value.map(|value| (key, value)));
    let text = |value: &Option<String>| value.as_deref().map(quoted);
    add("engine", text(&header.engine));
    let seen: Vec<String> = header.seen_on.iter().map(|v| quoted(v)).collect();
    add(
        "seen_on",
        (!seen.is_empty()).then(|| format!("[{}]", seen.join(", "))),
    );
    let variables: Vec<String> = header
        .variables
        .iter()
        .map(|(name, value)| format!("{} = {}", key(name), quoted(value)))
        .collect();
    add(
        "variables",
        (!variables.is_empty()).then(|| format!("{{ {} }}", variables.join(", "))),
    );
    add("isolation", Some(isolation(&header.isolation)));
    add("claim", header.claim.map(|level| quoted(level.sql())));
    add("pace", (header.pace == Pace::Free).then(|| quoted("free")));
    let prepared: Vec<String> = header
        .prepared
        .iter()
        .map(|session| quoted(&session.to_string()))
        .collect();
    add(
        "prepared",
        (!prepared.is_empty()).then(|| format!("[{}]", prepared.join(", "))),
    );
    add(
        "session_setup",
        header.session_setup.as_ref().map(session_setup),
    );
    add("anomaly", text(&header.anomaly));
    add("oracle", text(&header.oracle));
    add("kind", text(&header.kind));
    add("known", text(&header.known));
    add("seed", text(&header.seed));
    add(
        "reproduced",
        header.reproduced.map(|r| quoted(&r.to_string())),
    );
    add("signature", text(&header.signature));
    entries
}

fn isolation(isolation: &Isolation) -> String {
    match isolation {
        Isolation::All(level) => quoted(level.sql()),
        Isolation::Each(levels) => {
            let levels: Vec<String> = levels
                .iter()
                .map(|(session, level)| format!("{session} = {}", quoted(level.sql())))
                .collect();
            format!("{{ {} }}", levels.join(", "))
        }
    }
}

/// A list with one statement a line, or such a list for each session.
fn session_setup(setup: &SessionSetup) -> String {
    let list = |statements: &[String], indent: &str| {
        let lines: String = statements
            .iter()
            .map(|sql| format!("--! {indent}  {},\n", quoted(sql)))
            .collect();
        if lines.is_empty() {
            "[]".to_owned()
        } else {
            format!("[\n{lines}--! {indent}]")
        }
    };
    match setup {
        SessionSetup::All(statements) => list(statements, ""),
        SessionSetup::Each(each) => {
            let lists: String = each
                .iter()
                .map(|(session, statements)| {
                    format!("--!   {session} = {},\n", list(statements, "  "))
                })
                .collect();
            format!("{{\n{lists}--! }}")
        }
    }
}

/// A TOML key, bare where it may be.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// A text in double quotes, by escapes that TOML's basic strings and Python's literals share.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
