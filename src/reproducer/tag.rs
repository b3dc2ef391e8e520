//! Whose statement a line is: `/* init */`, `/* s1 T1.2 */`, `/* end */`.

use crate::model::{SessionId, StatementId};

/// More sessions than this are a mistake of the file, and a thread each.
const SESSIONS_MAX: u32 = 64;

/// Who runs a line of a case file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag {
    /// Set-up: first, alone.
    Init,
    Session(SessionId),
    /// After all sessions ended, alone.
    End,
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Init => f.write_str("init"),
            Self::Session(session) => session.fmt(f),
            Self::End => f.write_str("end"),
        }
    }
}

/// The session that a tag or a key names: `s1`.
pub(super) fn session(name: &str) -> Option<SessionId> {
    let digits = name.strip_prefix('s')?;
    let number: u32 = digits.parse().ok()?;
    let canonical = digits == number.to_string();
    (canonical && (1..=SESSIONS_MAX).contains(&number)).then_some(SessionId(number))
}

/// What a tag says: `init`, `end`, `s1`, or `s1 T1.2`.
pub(super) fn parse(name: &str) -> Result<(Tag, Option<StatementId>), String> {
    match name {
        "init" => return Ok((Tag::Init, None)),
        "end" => return Ok((Tag::End, None)),
        _ => {}
    }
    let (first, number) = match name.split_once(char::is_whitespace) {
        Some((first, number)) => (first, Some(number.trim_start())),
        None => (name, None),
    };
    let session = session(first).ok_or_else(|| {
        format!("unknown tag {name:?}: expected init, end, or a session from s1 to s{SESSIONS_MAX}")
    })?;
    let number = number
        .map(|number| {
            number.parse().map_err(|error| {
                format!("in the tag {name:?}: {error} behind the session, or nothing")
            })
        })
        .transpose()?;
    Ok((Tag::Session(session), number))
}
