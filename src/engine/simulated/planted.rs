//! The faults of one server, and how often they bite.
//!
//! Whether one bites at a rate is decided by what the transaction has been sent so far, and by nothing else.

use std::collections::BTreeSet;

use super::fault::Fault;
use super::policy::EngineFlavour;
use crate::engine::error::EngineError;
use crate::model::IsolationLevel;

/// The faults of a server, and how often they bite.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Faults {
    /// Says which levels a fault breaks.
    flavour: EngineFlavour,
    planted: BTreeSet<Fault>,
    /// Of 1,000,000 opportunities.
    per_million: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            flavour: EngineFlavour::default(),
            planted: BTreeSet::new(),
            per_million: MILLION,
        }
    }
}

const MILLION: u64 = 1_000_000;

impl Faults {
    /// Reads the parameters `fault` and `rate` of a target.
    pub(super) fn read(
        flavour: EngineFlavour,
        names: Option<&str>,
        rate: Option<&str>,
    ) -> Result<Self, EngineError> {
        let mut faults = Self {
            flavour,
            ..Self::default()
        };
        for name in names
            .unwrap_or_default()
            .split(',')
            .filter(|n| !n.is_empty())
        {
            faults.planted.insert(Fault::named(name)?);
        }
        if let Some(text) = rate {
            let share: Option<f64> = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
            let Some(share) = share else {
                return Err(EngineError::Target(format!(
                    "unknown rate {text:?}: a number from 0 to 1"
                )));
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is between 0 and a million"
            )]
            {
                faults.per_million = (share * 1_000_000.0).round() as u64;
            }
        }
        Ok(faults)
    }

    /// The flavour of the server.
    pub(super) fn flavour(&self) -> EngineFlavour {
        self.flavour
    }

    /// Whether a fault is planted and bites a transaction that was sent what this hash stands for.
    pub(super) fn strikes(&self, fault: Fault, level: IsolationLevel, sent: u64) -> bool {
        self.planted.contains(&fault)
            && self.flavour.broken_by(fault).contains(&level)
            && hash(sent, fault.slug()) % MILLION < self.per_million
    }
}

/// FNV-1a over a text, from where an earlier hash ended.
pub(super) fn hash(from: u64, text: &str) -> u64 {
    let bytes = text.bytes().chain([0]);
    let hash = bytes.fold(from ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The low digits of similar texts are alike without this.
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_words_are_refused_with_what_there_is() {
        let message = |names, rate| {
            Faults::read(EngineFlavour::default(), names, rate)
                .expect_err("refused")
                .to_string()
        };
        assert!(message(Some("dirty-reed"), None).contains("did you mean dirty-read?"));
        assert!(message(Some("x"), None).contains("write-skew"));
        assert!(message(None, Some("1.5")).contains("from 0 to 1"));
    }

    #[test]
    fn a_rate_is_kept_and_depends_on_what_was_sent() {
        let faults =
            Faults::read(EngineFlavour::default(), Some("dirty-read"), Some("0.1")).expect("valid");
        let level = IsolationLevel::ReadCommitted;
        let sent = (0..1000).map(|number| hash(0, &format!("SELECT {number}")));
        let struck = sent.filter(|sent| faults.strikes(Fault::DirtyRead, level, *sent));
        let count = struck.count();
        assert!((60..140).contains(&count), "{count}");
        assert!(!faults.strikes(Fault::DirtyRead, IsolationLevel::ReadUncommitted, 7));
        assert!(!faults.strikes(Fault::DirtyWrite, level, 7));
    }
}
