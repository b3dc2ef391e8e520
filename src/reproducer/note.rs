//! Notes behind a statement: `-- @blocks s1  @got (1)  @expect (2)`.
//!
//! `@got`, `@error`, `@blocks` and `@resumes` are observations; `@expect` is what a correct engine
//! answers, and several of them are alternatives. Other notes are kept as they stand.

use super::cell::{self, Cell};
use super::tag;
use crate::model::{ErrorClass, Outcome};

pub(super) const EXPECT: &str = "expect";

/// The table in which a write left other rows than it should.
pub(super) const WRONG_EFFECT: &str = "wrong-effect";

/// One note, its text without surrounding blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Without the `@`.
    pub name: String,
    pub text: String,
}

impl Note {
    /// `@blocks s1`: the statement waits for this session.
    pub fn blocks(session: crate::model::SessionId) -> Self {
        Self::new("blocks", session.to_string())
    }

    /// `@resumes s2`: the statement lets this session go on.
    pub fn resumes(session: crate::model::SessionId) -> Self {
        Self::new("resumes", session.to_string())
    }

    /// The outcome of a statement: `@got (1)`, `@got affected 2`, `@error duplicate`.
    pub fn outcome(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Rows(_) | Outcome::Affected(_) => Self::new("got", outcome.to_string()),
            Outcome::Rejected(error) => Self::new("error", error.class.slug()),
        }
    }

    /// Any note.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }
}

/// What `@expect` asks of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// These rows, in any order.
    Rows(Vec<Vec<Cell>>),
    Affected(u64),
    Error(ErrorClass),
    /// Any answer but a rejection.
    Accepted,
    /// It waits for a lock before it answers.
    Waits,
    /// It answers without waiting.
    DoesNotWait,
}

impl Expectation {
    /// Whether an outcome is as expected. `waited`: it was seen waiting for a lock.
    pub fn meets(&self, outcome: &Outcome, waited: bool) -> bool {
        match (self, outcome) {
            (Self::Waits, _) => waited,
            (Self::DoesNotWait, _) => !waited,
            (Self::Accepted, outcome) => outcome.error_class().is_none(),
            (Self::Error(class), outcome) => outcome.error_class() == Some(*class),
            (Self::Affected(expected), Outcome::Affected(got)) => expected == got,
            (Self::Rows(expected), Outcome::Rows(got)) => same_rows(expected, got),
            _ => false,
        }
    }

    /// About waiting, not about the answer: both can be asked of one statement.
    pub fn is_about_waiting(&self) -> bool {
        matches!(self, Self::Waits | Self::DoesNotWait)
    }
}

/// Whether the answer that was seen is none of those that are right, or was not noted. What is expected of
/// waiting is left out.
pub fn is_disputed(seen: Option<&Expectation>, right: &[Expectation]) -> bool {
    let mut answers = right.iter().filter(|right| !right.is_about_waiting());
    let Some(seen) = seen else {
        return !right.is_empty();
    };
    let about_answers = answers.clone().next().is_some();
    about_answers && !answers.any(|right| is_same(right, seen))
}

/// Whether two answers are the same; rows in any order.
fn is_same(one: &Expectation, other: &Expectation) -> bool {
    let sorted = |rows: &[Vec<_>]| {
        let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
        rows.sort();
        rows
    };
    match (one, other) {
        (Expectation::Rows(one), Expectation::Rows(other)) => sorted(one) == sorted(other),
        (Expectation::Accepted, other) => !matches!(other, Expectation::Error(_)),
        (one, other) => one == other,
    }
}

/// Whether each expected row is met by a row of its own. A cell may be met by several values (a
/// number by any type), so rows are matched, not sorted and compared.
fn same_rows(expected: &[Vec<Cell>], got: &[crate::model::Row]) -> bool {
    if expected.len() != got.len() {
        return false;
    }
    let mut free: Vec<&crate::model::Row> = got.iter().collect();
    expected.iter().all(|cells| {
        let met = free.iter().position(|row| cell::row_meets(cells, row));
        met.map(|at| free.swap_remove(at)).is_some()
    })
}

impl std::fmt::Display for Expectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rows(rows) if rows.is_empty() => f.write_str("empty"),
            Self::Rows(rows) => {
                for (index, row) in rows.iter().enumerate() {
                    let cells: Vec<String> = row.iter().map(Cell::to_string).collect();
                    let blank = if index == 0 { "" } else { " " };
                    write!(f, "{blank}({})", cells.join(", "))?;
                }
                Ok(())
            }
            Self::Affected(count) => write!(f, "affected {count}"),
            Self::Error(class) => write!(f, "error {class}"),
            Self::Accepted => f.write_str("accepted"),
            Self::Waits => f.write_str("waits"),
            Self::DoesNotWait => f.write_str("no wait"),
        }
    }
}

/// Reads what stands behind `@expect`.
///
/// # Errors
/// What was expected, with the byte it was expected at.
pub(super) fn expectation(text: &str) -> Result<Expectation, (usize, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["affected", count] => count
            .parse()
            .map(Expectation::Affected)
            .map_err(|_| (9, "expected a number of rows".to_owned())),
        ["error", class] => error_class(class)
            .map(Expectation::Error)
            .ok_or_else(|| (6, error_class_words())),
        ["accepted"] => Ok(Expectation::Accepted),
        ["waits"] => Ok(Expectation::Waits),
        ["no", "wait"] => Ok(Expectation::DoesNotWait),
        _ if text.starts_with('(') || text == "empty" => cell::rows(text).map(Expectation::Rows),
        _ => Err((
            0,
            "expected rows such as (1, 'a'), empty, affected N, error CLASS, accepted, waits or \
             no wait"
                .to_owned(),
        )),
    }
}

/// An oracle's prediction of an answer as the text of an `@expect` note. The code of an error is left
/// out, because versions differ in it. None where the prediction is no answer, or was shortened.
pub(super) fn expected_answer(prediction: &str) -> Option<String> {
    let text = match prediction.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["error", class, ..] => format!("error {class}"),
        _ => prediction.to_owned(),
    };
    expectation(&text).is_ok().then_some(text)
}

/// What a note observes, when it observes an answer.
pub(super) fn observation(note: &Note) -> Option<Expectation> {
    match note.name.as_str() {
        "got" => expectation(&note.text).ok(),
        "error" => error_class(&note.text).map(Expectation::Error),
        _ => None,
    }
}

/// Checks the notes that have a meaning.
///
/// # Errors
/// What was expected, with the byte of the note's text it was expected at.
pub(super) fn check(note: &Note) -> Result<(), (usize, String)> {
    match note.name.as_str() {
        EXPECT => expectation(&note.text).map(|_| ()),
        "error" => match error_class(&note.text) {
            Some(_) => Ok(()),
            None => Err((0, error_class_words())),
        },
        "blocks" | "resumes" => {
            let all = note.text.split([',', ' ']).filter(|word| !word.is_empty());
            let mut count = 0;
            for word in all {
                count += 1;
                if tag::session(word).is_none() {
                    return Err((0, format!("{word:?} is no session: expected s1, s2, ...")));
                }
            }
            if count == 0 {
                return Err((0, "expected a session: s1, s2, ...".to_owned()));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn error_class(word: &str) -> Option<ErrorClass> {
    ErrorClass::ALL
        .into_iter()
        .find(|class| class.slug() == word)
}

fn error_class_words() -> String {
    let words: Vec<&str> = ErrorClass::ALL.iter().map(|class| class.slug()).collect();
    format!("expected an error class: one of {}", words.join(", "))
}

/// A note with the byte its own text begins at.
pub(super) struct PlacedNote {
    pub(super) note: Note,
    pub(super) at: usize,
}

/// Cuts a comment into the free text before the notes and the notes.
///
/// A note begins at an `@` with a letter behind and a blank (or nothing) before it, outside of the
/// quotes of an earlier note.
pub(super) fn split(text: &str) -> (String, Vec<PlacedNote>) {
    let mut starts = Vec::new();
    let mut quoted = false;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c == '\'' && !starts.is_empty() {
            quoted = !quoted;
        }
        let letter = text[at + c.len_utf8()..].starts_with(|c: char| c.is_ascii_alphabetic());
        if c == '@' && !quoted && before.is_whitespace() && letter {
            starts.push(at);
        }
        before = c;
    }
    let remark = &text[..starts.first().copied().unwrap_or(text.len())];
    let mut notes = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(text.len());
        let whole = &text[start + 1..end];
        let name_length = whole
            .find(|c: char| c.is_whitespace())
            .unwrap_or(whole.len());
        let rest = &whole[name_length..];
        let blank = rest.len() - rest.trim_start().len();
        notes.push(PlacedNote {
            note: Note::new(&whole[..name_length], rest.trim()),
            at: start + 1 + name_length + blank,
        });
    }
    (remark.trim().to_owned(), notes)
}
