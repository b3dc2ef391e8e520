//! A statement of a client, with what was seen of it and what is right.

use crate::model::{Effect, RowOrder, StatementId};
use crate::reproducer::{self, Expectation};

/// A statement of a client with its answers.
#[derive(Clone, Debug)]
pub(super) struct ClientStep {
    /// The client, counted from 1; none after the last client has ended.
    pub(super) client: Option<u32>,
    /// The statement of the case; none for a read that only fixes a snapshot, and for the reads at
    /// the end.
    pub(super) id: Option<StatementId>,
    pub(super) sql: String,
    pub(super) effect: Effect,
    /// It was seen waiting for a lock.
    pub(super) waits: bool,
    /// The clients that it waited for, where the engine said.
    pub(super) waits_for: Vec<u32>,
    /// The clients that went on when it was answered.
    pub(super) resumes: Vec<u32>,
    /// The answer that was seen.
    pub(super) seen: Option<Expectation>,
    /// The answers that are right, the likeliest first; empty where the case expects nothing.
    pub(super) right: Vec<Expectation>,
    /// It left other rows than it should.
    pub(super) has_wrong_effect: bool,
    /// A wrong answer to a statement that locks, while another client's transaction has locked rows of a table
    /// that it names: an engine that is right may have it wait.
    pub(super) may_wait: bool,
    /// It was rejected, which ended its transaction, and the bug shows in what that left behind: where another
    /// transaction is rejected, the bug cannot show.
    pub(super) is_decisive: bool,
    /// What it came to in words, where they say more than the answer.
    pub(super) outcome: Option<String>,
}

impl ClientStep {
    /// A step whose answer the case does not tell.
    pub(super) fn unjudged(client: Option<u32>, sql: String, effect: Effect) -> Self {
        Self {
            client,
            id: None,
            sql,
            effect,
            waits: false,
            waits_for: Vec::new(),
            resumes: Vec::new(),
            seen: None,
            right: Vec::new(),
            has_wrong_effect: false,
            may_wait: false,
            is_decisive: false,
            outcome: None,
        }
    }

    /// Whether no transaction of the client is open behind it.
    pub(super) fn ends_transaction(&self) -> bool {
        self.effect.is_last_end() || self.is_decisive
    }

    /// Whether what comes behind it depends on what went wrong: answers that nobody predicted are not known then.
    pub(super) fn spoils_what_follows(&self) -> bool {
        self.has_wrong_effect
            || self.waits_wrongly()
            || (self.is_disputed() && self.effect.kind.is_write())
    }

    /// Whether the answer that was seen is none of those that are right, or was not noted, or came with or
    /// without a wait that is wrong.
    pub(super) fn is_disputed(&self) -> bool {
        reproducer::is_disputed(self.seen.as_ref(), &self.right)
            || self.is_out_of_order()
            || self.waits_wrongly()
    }

    /// Whether it waited where it should not, or should have waited. What comes after it comes in another
    /// order then on an engine that is right.
    pub(super) fn waits_wrongly(&self) -> bool {
        match self.waits {
            true => self.right.contains(&Expectation::DoesNotWait),
            false => self.right.contains(&Expectation::Waits),
        }
    }

    /// Whether the rows that were seen are right but for their order, which the statement fixes.
    fn is_out_of_order(&self) -> bool {
        let is_rows = |answer: &Expectation| matches!(answer, Expectation::Rows(_));
        let Some(seen) = self.seen.as_ref().filter(|seen| is_rows(seen)) else {
            return false;
        };
        let told = self.right.iter().any(is_rows);
        self.effect.row_order == RowOrder::Total && told && !self.right.contains(seen)
    }
}
