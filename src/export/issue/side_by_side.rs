//! The steps with a column for each client, time running down.

use crate::export::scenario::Scenario;
use crate::export::words;
use crate::model::wrapped;

/// Columns for the statements of all clients together.
const WIDTH: usize = 96;

/// No column is narrower.
const COLUMN_MIN: usize = 24;

/// The picture of a scenario, in lines of text.
pub(super) fn picture(scenario: &Scenario<'_>) -> String {
    let clients: Vec<u32> = scenario.clients.keys().copied().collect();
    let width = (WIDTH / clients.len().max(1)).max(COLUMN_MIN);
    let heads: Vec<String> = clients.iter().map(|n| format!("client {n}")).collect();
    let mut text = row("", &heads, width);
    let rules = vec!["-".repeat(width); clients.len()];
    text.push_str(
        &row("---", &rules, width)
            .replace(' ', "-")
            .replace('|', "+"),
    );
    for (index, step) in scenario.steps.iter().enumerate() {
        let Some(column) = clients.iter().position(|n| Some(*n) == step.client) else {
            continue;
        };
        let mut lines = wrapped(&format!("{};", step.sql), width, "");
        let told = words::told(step, scenario);
        if !told.is_empty() {
            let indented = wrapped(&told, width - 2, "");
            lines.extend(indented.iter().map(|line| format!("  {line}")));
        }
        for (at, line) in lines.into_iter().enumerate() {
            let mut cells = vec![String::new(); clients.len()];
            cells[column] = line;
            let number = match at {
                0 => (index + 1).to_string(),
                _ => String::new(),
            };
            text.push_str(&row(&number, &cells, width));
        }
    }
    text
}

fn row(number: &str, cells: &[String], width: usize) -> String {
    let mut line = format!("{number:>3}");
    for cell in cells {
        let missing = width.saturating_sub(cell.chars().count());
        line.push_str(&format!(" | {cell}{}", " ".repeat(missing)));
    }
    format!("{}\n", line.trim_end())
}
