//! A case file as people read and edit it.

use std::collections::BTreeMap;

use super::cell;
use super::header::{Header, Isolation, SessionSetup};
use super::note::{self, Expectation, Note};
use super::tag::Tag;
use crate::model::{IsolationLevel, SessionId, StatementId};

/// One statement of a case file with what stands around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseLine {
    pub tag: Tag,
    /// The statement's number in its transaction, as headlines and transcripts name it; only a
    /// session's statement has one. Where the file gives it, it is checked before the case runs.
    pub number: Option<StatementId>,
    /// Without the semicolon; may span lines.
    pub sql: String,
    /// Comment lines before it, without their dashes.
    pub comments: Vec<String>,
    /// Free text behind it, before the notes.
    pub remark: String,
    pub notes: Vec<Note>,
    /// Where the statement begins in the file it was read from, from 1; 0 when it was not read.
    pub line: usize,
}

impl CaseLine {
    /// A line without notes.
    pub fn new(tag: Tag, sql: impl Into<String>) -> Self {
        Self {
            tag,
            number: None,
            sql: sql.into(),
            comments: Vec::new(),
            remark: String::new(),
            notes: Vec::new(),
            line: 0,
        }
    }

    /// The outcomes that a correct engine may give, as alternatives; empty when the file expects nothing.
    pub fn expectations(&self) -> Vec<Expectation> {
        self.notes
            .iter()
            .filter(|note| note.name == note::EXPECT)
            .filter_map(|note| note::expectation(&note.text).ok())
            .collect()
    }
}

impl CaseLine {
    /// Whether the rows of this line, those that it expects before those that were seen, hold all of the first and
    /// none that only the second have; both in the spelling of notes.
    pub(super) fn shows(&self, right: &str, wrong: &str) -> bool {
        let expected = self.notes.iter().rfind(|note| note.name == note::EXPECT);
        let seen = self.notes.iter().find(|note| note.name == "got");
        let rows = expected
            .or(seen)
            .and_then(|note| cell::rows(&note.text).ok());
        let (Some(rows), Ok(right), Ok(wrong)) = (rows, cell::rows(right), cell::rows(wrong))
        else {
            return false;
        };
        let mut only_wrong = wrong.iter().filter(|row| !right.contains(row));
        right.iter().all(|row| rows.contains(row)) && !only_wrong.any(|row| rows.contains(row))
    }

    /// Whether it is a write that left other rows than it should.
    pub fn has_wrong_effect(&self) -> bool {
        let mut notes = self.notes.iter();
        notes.any(|note| note.name == note::WRONG_EFFECT)
    }

    /// What was observed, as the notes tell it: answers (`@got`) and rejections (`@error`).
    pub fn observations(&self) -> Vec<Expectation> {
        self.notes.iter().filter_map(note::observation).collect()
    }
}

/// A case file as people read and edit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseFile {
    pub header: Header,
    /// In the order of the file: the submitted order.
    pub lines: Vec<CaseLine>,
    /// Comment lines behind the last statement.
    pub last_comments: Vec<String>,
}

impl CaseFile {
    /// The level of a session, when the header gives one.
    pub fn level(&self, session: SessionId) -> Option<IsolationLevel> {
        match &self.header.isolation {
            Isolation::All(level) => Some(*level),
            Isolation::Each(levels) => levels.get(&session).copied(),
        }
    }

    /// What a session of the run executed before anything else, when the header says it.
    pub fn session_setup(&self, session: SessionId) -> Option<&[String]> {
        match self.header.session_setup.as_ref()? {
            SessionSetup::All(statements) => Some(statements),
            SessionSetup::Each(each) => each.get(&session).map(Vec::as_slice),
        }
    }

    /// The sessions of the file with their levels.
    pub fn levels(&self) -> BTreeMap<SessionId, Option<IsolationLevel>> {
        self.lines
            .iter()
            .filter_map(|line| match line.tag {
                Tag::Session(session) => Some((session, self.level(session))),
                Tag::Init | Tag::End => None,
            })
            .collect()
    }

    /// The statements that carry a tag, in order.
    pub fn tagged(&self, tag: Tag) -> impl Iterator<Item = &CaseLine> {
        self.lines.iter().filter(move |line| line.tag == tag)
    }
}
