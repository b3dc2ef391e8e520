//! What the recorder of a history was promised, and whether that was kept.

use serde_json::{Value, json};

use crate::checker::Answer;
use crate::cli::terminal::{Style, printable};
use crate::history::{History, RecordedPromise};
use crate::model::ConsistencyModel;

/// Whether a history keeps what was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptPromise {
    Kept,
    Broken,
    /// Nothing was promised, or nothing that was checked tells.
    Untold,
}

impl KeptPromise {
    /// What the answer about one model tells.
    pub(super) fn by_one(
        promise: Option<RecordedPromise>,
        model: ConsistencyModel,
        answer: &Answer,
    ) -> Self {
        match answer {
            Answer::Satisfied(_) => Self::by_ladder(promise, Some(model), None),
            Answer::Violated(_) => Self::by_ladder(promise, None, Some(model)),
            Answer::Unknown(_) => Self::Untold,
        }
    }

    /// What the strongest model that is satisfied and the weakest that is violated tell: each model of
    /// the ladder implies those below it.
    pub(super) fn by_ladder(
        promise: Option<RecordedPromise>,
        satisfied: Option<ConsistencyModel>,
        violated: Option<ConsistencyModel>,
    ) -> Self {
        let Some(model) = promise.and_then(|promise| promise.model) else {
            return Self::Untold;
        };
        if violated.is_some_and(|violated| violated <= model) {
            Self::Broken
        } else if satisfied.is_some_and(|satisfied| satisfied >= model) {
            Self::Kept
        } else {
            Self::Untold
        }
    }

    pub(super) fn as_json(self) -> Value {
        match self {
            Self::Kept => json!(true),
            Self::Broken => json!(false),
            Self::Untold => Value::Null,
        }
    }
}

/// A line for people: what was promised, by whom, and whether that was kept.
pub(super) fn in_words(history: &History, promise: RecordedPromise, kept: KeptPromise) -> String {
    let style = Style::of_stdout();
    let told = match (promise.model, kept) {
        (None, _) => "nothing".to_owned(),
        (Some(model), KeptPromise::Kept) => format!("{model}, {}", style.green("kept")),
        (Some(model), KeptPromise::Broken) => format!("{model}, {}", style.red("broken")),
        (Some(model), KeptPromise::Untold) => {
            let ask = format!("which this does not tell: ask --model {}", model.slug());
            format!("{model}, {}", style.yellow(&ask))
        }
    };
    let by = promise.by.map_or(String::new(), |by| {
        format!(" by {}", printable(&history.show(by)))
    });
    format!("promised{by}: {told}")
}
