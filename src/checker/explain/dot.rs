//! A counterexample as a graph for Graphviz.

use std::fmt::Write;

use crate::checker::evidence::counterexample::{Counterexample, Edge};
use crate::checker::explain::label::label;
use crate::checker::explain::links::links;
use crate::checker::explain::lost_update::as_told;
use crate::checker::explain::words::{title, transaction_in_words};
use crate::history::History;
use crate::model::printable;

/// The counterexample as a graph for Graphviz.
pub fn dot(history: &History, counterexample: &Counterexample) -> String {
    let quoted = |text: String| {
        let text = printable(&text);
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    };
    let mut text = String::from("digraph counterexample {\n  node [shape=box];\n");
    let _ = writeln!(text, "  label={};", quoted(title(history, counterexample)));
    for transaction in counterexample.transactions() {
        let name = quoted(history.name(transaction));
        let words = transaction_in_words(history, counterexample, transaction);
        let label = quoted(words);
        let _ = writeln!(text, "  {name} [label={label}];");
    }
    let mut arrow = |edge: &Edge, style: &str| {
        let (from, to) = (
            quoted(history.name(edge.from)),
            quoted(history.name(edge.to)),
        );
        let label = quoted(label(history, edge.reason));
        let _ = writeln!(text, "  {from} -> {to} [label={label}{style}];");
    };
    for edge in &as_told(history, counterexample) {
        arrow(edge, "");
    }
    for edge in &links(history, counterexample) {
        arrow(edge, " style=dashed");
    }
    text.push_str("}\n");
    text
}
