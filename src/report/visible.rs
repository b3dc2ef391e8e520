//! What of a text stands in the page as it is.

use crate::model::printable;

/// The page with every control character, every turn of direction and every letter that leaves no mark shown as
/// an escape, wherever it came from. Tabs part the columns of a result file: they stay.
pub(super) fn visible(page: &str) -> String {
    let parts: Vec<String> = page.split('\t').map(printable).collect();
    parts.join("\t")
}

/// Whether a text stands in the page letter by letter, so that it can be copied from there.
pub(super) fn is_shown_as_it_is(text: &str) -> bool {
    visible(text) == text
}
