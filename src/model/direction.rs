//! In which direction an outcome differs from a prediction.

use super::slug::slugged;

slugged! {
    /// In which direction an outcome differs from the prediction. Losing a row and showing one twice
    /// are two bugs, so signatures keep them apart.
    pub enum Direction {
        /// Rows are missing, and none is too many.
        Lost = "lost",
        /// Rows are too many, and none is missing.
        Extra = "extra",
        /// Some rows are missing and others stand in their place: an old version, another value.
        Changed = "changed",
        /// The right rows, but NULL stands in place of some values.
        Nulled = "nulled",
        /// The right rows, but for blanks at the end of some texts.
        Padded = "padded",
        /// The right rows in another order.
        Order = "order",
        /// A count, or the one number that a query gives, is too low.
        Lower = "lower",
        /// A count, or the one number that a query gives, is too high.
        Higher = "higher",
        /// Answered, where an error was predicted.
        Answered = "answered",
        /// Rejected, where an answer was predicted.
        Refused = "refused",
        /// Rejected for another reason than the predicted one.
        OtherError = "other-error",
        /// Waited, or did not, against the prediction.
        Waiting = "waiting",
        /// Not comparable: a result instead of a count, or what a case file expects in words.
        Other = "other",
    }
}
