//! The header of a case file: TOML behind `--! `.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use super::error::FormatError;
use super::tag;
use crate::model::{IsolationLevel, Pace, SessionId};

/// Raise it when an older reader would misread a newer file.
pub const FORMAT_VERSION: u32 = 1;

/// The level of each session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// One for all.
    All(IsolationLevel),
    Each(BTreeMap<SessionId, IsolationLevel>),
}

/// What each session executed before its first statement, isolation level included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionSetup {
    /// The same for all.
    All(Vec<String>),
    Each(BTreeMap<SessionId, Vec<String>>),
}

/// How often the case showed its finding: `k/n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reproduced {
    pub hits: u32,
    pub runs: u32,
}

impl Reproduced {
    /// The share of runs that showed it; none of none is none.
    pub fn rate(self) -> f64 {
        if self.runs == 0 {
            0.0
        } else {
            f64::from(self.hits) / f64::from(self.runs)
        }
    }
}

impl std::fmt::Display for Reproduced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.hits, self.runs)
    }
}

/// The header's keys. Only the isolation level is required beside the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The engine it was seen on, as URLs name it.
    pub engine: Option<String>,
    /// Version texts of the servers that showed it.
    pub seen_on: Vec<String>,
    /// Server variables that matter, as they stood.
    pub variables: BTreeMap<String, String>,
    pub isolation: Isolation,
    /// The stronger level by which the run was judged, where one was claimed.
    pub claim: Option<IsolationLevel>,
    /// `free`: the sessions do not wait for each other.
    pub pace: Pace,
    /// The sessions that send reads and writes as prepared statements.
    pub prepared: BTreeSet<SessionId>,
    /// What the sessions of the run executed first: for people who run the case by hand. Replay's
    /// sessions execute their dialect's own; where the file was seen on the same engine, it must be
    /// the same.
    pub session_setup: Option<SessionSetup>,
    /// What is wrong: the word that heads the signature.
    pub anomaly: Option<String>,
    pub oracle: Option<String>,
    pub kind: Option<String>,
    /// The registered behaviour that explains it.
    pub known: Option<String>,
    /// `run seed:case index`.
    pub seed: Option<String>,
    pub reproduced: Option<Reproduced>,
    /// The identifier of the signature.
    pub signature: Option<String>,
    pub comments: HeaderComments,
}

impl Header {
    /// A header that gives the levels and nothing else.
    pub fn new(isolation: Isolation) -> Self {
        Self {
            engine: None,
            seen_on: Vec::new(),
            variables: BTreeMap::new(),
            isolation,
            claim: None,
            pace: Pace::Scheduled,
            prepared: BTreeSet::new(),
            session_setup: None,
            anomaly: None,
            oracle: None,
            kind: None,
            known: None,
            seed: None,
            reproduced: None,
            signature: None,
            comments: HeaderComments::default(),
        }
    }
}

/// Comments of the header, by the key they stand at. Without the `#`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderComments {
    /// Whole lines before a key.
    pub before: BTreeMap<String, Vec<String>>,
    /// Behind a key's value.
    pub behind: BTreeMap<String, String>,
    /// Whole lines behind the last key.
    pub last: Vec<String>,
}

/// The header's text with the place of each of its lines in the file.
pub(super) struct HeaderText<'a> {
    pub(super) file: &'a str,
    /// The TOML, prefixes stripped.
    pub(super) toml: String,
    /// For each line of the TOML: its line in the file and the column its text begins at.
    pub(super) places: Vec<(usize, usize)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    format: Spanned<u32>,
    engine: Option<Spanned<String>>,
    seen_on: Option<Spanned<Vec<String>>>,
    variables: Option<Spanned<BTreeMap<String, String>>>,
    isolation: Spanned<RawIsolation>,
    claim: Option<Spanned<String>>,
    pace: Option<Spanned<String>>,
    prepared: Option<Spanned<Vec<String>>>,
    session_setup: Option<Spanned<RawSessionSetup>>,
    anomaly: Option<Spanned<String>>,
    oracle: Option<Spanned<String>>,
    kind: Option<Spanned<String>>,
    known: Option<Spanned<String>>,
    seed: Option<Spanned<String>>,
    reproduced: Option<Spanned<String>>,
    signature: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a level such as \"READ COMMITTED\", or one for each session: { s1 = \"...\" }"
)]
enum RawIsolation {
    All(String),
    Each(BTreeMap<String, String>),
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a list of statements, or one for each session: { s1 = [\"SET ..\"], s2 = [] }"
)]
enum RawSessionSetup {
    All(Vec<String>),
    Each(BTreeMap<String, Vec<String>>),
}

impl HeaderText<'_> {
    /// An error at a byte of the TOML.
    fn error(&self, at: usize, message: impl Into<String>) -> FormatError {
        let before = &self.toml[..at.min(self.toml.len())];
        let index = before.matches('\n').count();
        let column = before.len() - before.rfind('\n').map_or(0, |i| i + 1);
        let (line, start) = self
            .places
            .get(index)
            .or(self.places.last())
            .copied()
            .unwrap_or((1, 1));
        FormatError {
            file: self.file.to_owned(),
            line,
            column: start + column,
            message: message.into(),
        }
    }

    /// Reads the keys.
    pub(super) fn read(&self) -> Result<Header, FormatError> {
        if self.places.is_empty() {
            return Err(self.error(
                0,
                format!(
                    "expected a header: `--! format = {FORMAT_VERSION}` and an isolation level"
                ),
            ));
        }
        let raw: Raw = toml::from_str(&self.toml).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(at, format!("in the header: {}", error.message()))
        })?;
        if *raw.format.get_ref() != FORMAT_VERSION {
            return Err(self.error(
                raw.format.span().start,
                format!(
                    "format {} is not known: expected {FORMAT_VERSION}",
                    raw.format.get_ref()
                ),
            ));
        }
        let comments = self.comments(&raw.spans());
        Ok(Header {
            isolation: self.isolation(&raw.isolation)?,
            claim: raw.claim.as_ref().map(|c| self.level(c)).transpose()?,
            pace: self.pace(raw.pace.as_ref())?,
            prepared: self.sessions(raw.prepared.as_ref())?,
            session_setup: raw
                .session_setup
                .as_ref()
                .map(|setup| self.session_setup(setup))
                .transpose()?,
            reproduced: raw
                .reproduced
                .as_ref()
                .map(|text| self.reproduced(text))
                .transpose()?,
            engine: raw.engine.map(Spanned::into_inner),
            seen_on: raw.seen_on.map(Spanned::into_inner).unwrap_or_default(),
            variables: raw.variables.map(Spanned::into_inner).unwrap_or_default(),
            anomaly: raw.anomaly.map(Spanned::into_inner),
            oracle: raw.oracle.map(Spanned::into_inner),
            kind: raw.kind.map(Spanned::into_inner),
            known: raw.known.map(Spanned::into_inner),
            seed: raw.seed.map(Spanned::into_inner),
            signature: raw.signature.map(Spanned::into_inner),
            comments,
        })
    }

    fn level(&self, text: &Spanned<String>) -> Result<IsolationLevel, FormatError> {
        text.get_ref()
            .parse()
            .map_err(|error| self.error(text.span().start, format!("{error}")))
    }

    fn pace(&self, text: Option<&Spanned<String>>) -> Result<Pace, FormatError> {
        match text.map(|text| (text, text.get_ref().as_str())) {
            None | Some((_, "scheduled")) => Ok(Pace::Scheduled),
            Some((_, "free")) => Ok(Pace::Free),
            Some((text, _)) => {
                Err(self.error(text.span().start, "expected \"scheduled\" or \"free\""))
            }
        }
    }

    fn sessions(
        &self,
        names: Option<&Spanned<Vec<String>>>,
    ) -> Result<BTreeSet<SessionId>, FormatError> {
        let Some(names) = names else {
            return Ok(BTreeSet::new());
        };
        let at = names.span().start;
        let names = names.get_ref().iter();
        names.map(|name| self.session(name, at)).collect()
    }

    fn isolation(&self, raw: &Spanned<RawIsolation>) -> Result<Isolation, FormatError> {
        let at = raw.span().start;
        let level = |text: &String| {
            text.parse::<IsolationLevel>()
                .map_err(|error| self.error(at, error.to_string()))
        };
        match raw.get_ref() {
            RawIsolation::All(text) => Ok(Isolation::All(level(text)?)),
            RawIsolation::Each(entries) => {
                let mut levels = BTreeMap::new();
                for (name, text) in entries {
                    levels.insert(self.session(name, at)?, level(text)?);
                }
                if levels.is_empty() {
                    return Err(self.error(at, "expected a level for each session"));
                }
                Ok(Isolation::Each(levels))
            }
        }
    }

    /// The session that a key names; the key stands at or behind this byte.
    fn session(&self, name: &str, at: usize) -> Result<SessionId, FormatError> {
        tag::session(name)
            .ok_or_else(|| self.error(at, format!("{name:?} is no session: expected s1, s2, ...")))
    }

    fn session_setup(&self, raw: &Spanned<RawSessionSetup>) -> Result<SessionSetup, FormatError> {
        match raw.get_ref() {
            RawSessionSetup::All(statements) => Ok(SessionSetup::All(statements.clone())),
            RawSessionSetup::Each(entries) => {
                let mut each = BTreeMap::new();
                for (name, statements) in entries {
                    each.insert(self.session(name, raw.span().start)?, statements.clone());
                }
                Ok(SessionSetup::Each(each))
            }
        }
    }

    fn reproduced(&self, text: &Spanned<String>) -> Result<Reproduced, FormatError> {
        text.get_ref()
            .split_once('/')
            .and_then(|(hits, runs)| {
                Some(Reproduced {
                    hits: hits.trim().parse().ok()?,
                    runs: runs.trim().parse().ok()?,
                })
            })
            .filter(|r| r.hits <= r.runs)
            .ok_or_else(|| {
                self.error(
                    text.span().start,
                    "expected hits and runs, such as \"10/10\"",
                )
            })
    }

    /// Finds the comments: whole lines, and what stands behind a value on its last line.
    fn comments(&self, spans: &[(&'static str, std::ops::Range<usize>)]) -> HeaderComments {
        let mut comments = HeaderComments::default();
        for (key, span) in spans {
            let rest = self.toml[span.end.min(self.toml.len())..]
                .lines()
                .next()
                .unwrap_or_default();
            if let Some(text) = rest.trim_start().strip_prefix('#') {
                comments
                    .behind
                    .insert((*key).to_owned(), text.trim().to_owned());
            }
        }
        let mut at = 0;
        for line in self.toml.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let inside = spans.iter().any(|(_, s)| s.start < start && start < s.end);
            let Some(text) = line.trim().strip_prefix('#').filter(|_| !inside) else {
                continue;
            };
            let next = spans
                .iter()
                .filter(|(_, span)| span.start > start)
                .min_by_key(|(_, span)| span.start);
            let place = match next {
                Some((key, _)) => comments.before.entry((*key).to_owned()).or_default(),
                None => &mut comments.last,
            };
            place.push(text.trim().to_owned());
        }
        comments
    }
}

impl Raw {
    /// Where each value stands.
    fn spans(&self) -> Vec<(&'static str, std::ops::Range<usize>)> {
        let optional =
            |key, value: &Option<Spanned<String>>| value.as_ref().map(|value| (key, value.span()));
        [
            Some(("format", self.format.span())),
            optional("engine", &self.engine),
            self.seen_on.as_ref().map(|v| ("seen_on", v.span())),
            self.variables.as_ref().map(|v| ("variables", v.span())),
            Some(("isolation", self.isolation.span())),
            optional("claim", &self.claim),
            optional("pace", &self.pace),
            self.prepared.as_ref().map(|v| ("prepared", v.span())),
            self.session_setup
                .as_ref()
                .map(|v| ("session_setup", v.span())),
            optional("anomaly", &self.anomaly),
            optional("oracle", &self.oracle),
            optional("kind", &self.kind),
            optional("known", &self.known),
            optional("seed", &self.seed),
            optional("reproduced", &self.reproduced),
            optional("signature", &self.signature),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
