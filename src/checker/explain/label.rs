//! The reason of an edge in a few letters.

use crate::checker::evidence::counterexample::Reason;
use crate::history::{History, Key};

/// The reason of an edge as pictures have it: `WR(x)`.
pub(in crate::checker) fn label(history: &History, reason: Reason) -> String {
    let key = |key: Key| history.spelled(history.key(key));
    match reason {
        Reason::Session => "SO".to_owned(),
        Reason::RealTime => "RT".to_owned(),
        Reason::WriteRead(k) => format!("WR({})", key(k)),
        Reason::WriteWrite(k) => format!("WW({})", key(k)),
        Reason::ReadWrite(k) => format!("RW({})", key(k)),
        Reason::SeenBy { key: k, .. } => format!("CO({})", key(k)),
        Reason::Event(_) | Reason::Missed(_) | Reason::Listed { .. } => "reads".to_owned(),
        Reason::Lists(k) => format!("order({})", key(k)),
        Reason::Early => "session".to_owned(),
        Reason::Overlap(k) => format!("overlap({})", key(k)),
    }
}
