//! Text to [`CaseFile`]. Every error names file, line and column, and what was expected.

use std::io::Read;
use std::path::Path;

use super::header::HeaderText;
use super::scanner::{self, Piece, Scanner};
use super::{CaseFile, CaseLine, FormatError, Header, Isolation, Note, Tag, note};
use crate::history::format::Compression;
use crate::model::SessionId;

/// Files above this size are refused unread: no case a person can read is that long.
pub const FILE_BYTES_MAX: u64 = 4 << 20;

/// Reads a case file from disk.
///
/// # Errors
/// When the file cannot be read, is no UTF-8, is larger than [`FILE_BYTES_MAX`], or is no case.
pub fn load(path: &Path) -> Result<CaseFile, FormatError> {
    let file_name = path.display().to_string();
    match std::fs::File::open(path) {
        Ok(mut file) => read_from(&mut file, &file_name),
        Err(cause) => Err(cannot_read(&file_name, &cause)),
    }
}

/// Reads a case file from a stream; `file_name` is for errors.
///
/// # Errors
/// As [`load`].
pub fn read_from(stream: &mut dyn Read, file_name: &str) -> Result<CaseFile, FormatError> {
    let mut bytes = Vec::new();
    stream
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|cause| cannot_read(file_name, &cause))?;
    if let Some(compression) = Compression::of(&bytes) {
        let name = compression.name();
        let message = format!("compressed by {name}: decompress it first, as with {name} -dk");
        return Err(at_start(file_name, message));
    }
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let message = format!("larger than {FILE_BYTES_MAX} bytes");
        return Err(at_start(file_name, message));
    }
    match String::from_utf8(bytes) {
        Ok(text) => read(&text, file_name),
        Err(cause) => {
            let good = cause.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&cause.as_bytes()[..good]).into_owned();
            let (line, column) = scanner::place(&text, good);
            Err(FormatError {
                file: file_name.to_owned(),
                line,
                column,
                message: "expected UTF-8 text".to_owned(),
            })
        }
    }
}

fn cannot_read(file_name: &str, cause: &std::io::Error) -> FormatError {
    at_start(file_name, format!("cannot read the file: {cause}"))
}

/// An error about the file as a whole.
fn at_start(file_name: &str, message: String) -> FormatError {
    FormatError {
        file: file_name.to_owned(),
        line: 1,
        column: 1,
        message,
    }
}

/// Reads the text of a case file; `file_name` is for errors.
///
/// # Errors
/// At the first place that is not as `docs/reproducer-format.md` says.
pub fn read(text: &str, file_name: &str) -> Result<CaseFile, FormatError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n");
    let mut scanner = Scanner::new(file_name, &text);
    let mut header = HeaderText {
        file: file_name,
        toml: String::new(),
        places: Vec::new(),
    };
    let mut lines: Vec<CaseLine> = Vec::new();
    let mut comments = Vec::new();
    while let Some(piece) = scanner.next()? {
        match piece {
            Piece::Header { at, .. } if !lines.is_empty() => {
                return Err(scanner.error(at, "a header line stands before every statement"));
            }
            Piece::Header { text: line, at } => {
                let blank = usize::from(line.starts_with(' '));
                let (number, column) = scanner::place(&text, at);
                header.places.push((number, column + blank));
                header.toml.push_str(&line[blank..]);
                header.toml.push('\n');
            }
            Piece::Comment { text: comment, at } => match lines.last_mut() {
                Some(line) if comments.is_empty() && comment.starts_with('@') => {
                    add_notes(&scanner, line, comment, &text, at)?;
                }
                _ => comments.push(comment.to_owned()),
            },
            Piece::Statement {
                tag,
                number,
                sql,
                at,
                trailing,
            } => {
                let mut line = CaseLine::new(tag, sql);
                line.number = number;
                line.line = scanner::place(&text, at).0;
                line.comments = std::mem::take(&mut comments);
                if let Some((comment, at)) = trailing {
                    add_notes(&scanner, &mut line, comment, &text, at)?;
                }
                check_order(&scanner, &lines, tag, at)?;
                lines.push(line);
            }
        }
    }
    let header = header.read()?;
    check_levels(&header, &lines, file_name)?;
    Ok(CaseFile {
        header,
        lines,
        last_comments: comments,
    })
}

/// Adds the remark and the notes of a comment that begins at or after a byte of the text.
fn add_notes(
    scanner: &Scanner<'_>,
    line: &mut CaseLine,
    comment: &str,
    text: &str,
    at: usize,
) -> Result<(), FormatError> {
    let start = at + text[at..].find(comment).unwrap_or(0);
    let (remark, notes) = note::split(comment);
    if line.remark.is_empty() {
        line.remark = remark;
    }
    for placed in notes {
        note::check(&placed.note).map_err(|(offset, message)| {
            let message = format!("in @{}: {message}", placed.note.name);
            scanner.error(start + placed.at + offset, message)
        })?;
        let Note { name, text } = placed.note;
        line.notes.push(Note { name, text });
    }
    Ok(())
}

/// The set-up stands before the sessions, and they before the end.
fn check_order(
    scanner: &Scanner<'_>,
    lines: &[CaseLine],
    tag: Tag,
    at: usize,
) -> Result<(), FormatError> {
    let stage = |tag| match tag {
        Tag::Init => 0,
        Tag::Session(_) => 1,
        Tag::End => 2,
    };
    match lines.last() {
        Some(last) if stage(last.tag) > stage(tag) => Err(scanner.error(
            at,
            format!(
                "a statement of {tag} behind one of {}: expected the set-up first, then the \
                 sessions, then the end",
                last.tag
            ),
        )),
        _ => Ok(()),
    }
}

/// There is a session, and each has a level.
fn check_levels(header: &Header, lines: &[CaseLine], file: &str) -> Result<(), FormatError> {
    let error = |line: usize, message: String| FormatError {
        file: file.to_owned(),
        line,
        column: 1,
        message,
    };
    let mut sessions = 0;
    for line in lines {
        let Tag::Session(session) = line.tag else {
            continue;
        };
        sessions += 1;
        if let Isolation::Each(levels) = &header.isolation
            && !levels.contains_key(&session)
        {
            return Err(error(
                line.line,
                format!("the header's isolation gives no level for {session}"),
            ));
        }
    }
    let has_statements = |session: &&SessionId| {
        let mut lines = lines.iter();
        lines.any(|line| line.tag == Tag::Session(**session))
    };
    if let Some(session) = header.prepared.iter().find(|s| !has_statements(s)) {
        let message =
            format!("the header's list `prepared` names {session}, which has no statement");
        return Err(error(1, message));
    }
    if sessions == 0 {
        let last = lines.last().map_or(1, |line| line.line);
        return Err(error(
            last,
            "expected a statement of a session: /* s1 */ ...;".to_owned(),
        ));
    }
    Ok(())
}
