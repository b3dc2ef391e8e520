//! A cycle of transactions as a picture.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use maud::{Markup, html};

use crate::model::{CycleStep, TransactionCycle, TransactionId};

/// Sizes in the picture's own unit, about a pixel.
const WIDTH: f64 = 560.0;
const RADIUS: f64 = 26.0;
const ACROSS: f64 = 190.0;
const DOWN: f64 = 120.0;
const MARGIN: f64 = 60.0;

/// How far an arrow bends from the straight line.
const BEND: f64 = 52.0;

/// Of the head of an arrow.
const HEAD: f64 = 9.0;

/// Letters of a label: a key may be long.
const LABEL_LETTERS_MAX: usize = 36;

#[derive(Clone, Copy)]
struct PlanePoint {
    x: f64,
    y: f64,
}

impl PlanePoint {
    /// This place, moved by so much of a vector.
    fn plus(self, by: Self, times: f64) -> Self {
        Self {
            x: self.x + by.x * times,
            y: self.y + by.y * times,
        }
    }

    /// The direction to another place, of length 1; to the right where both are one.
    fn toward(self, other: Self) -> Self {
        let (x, y) = (other.x - self.x, other.y - self.y);
        match x.hypot(y) {
            0.0 => Self { x: 1.0, y: 0.0 },
            length => Self {
                x: x / length,
                y: y / length,
            },
        }
    }
}

/// The picture of a cycle, with the meaning of its labels.
pub(super) fn picture(cycle: &TransactionCycle) -> Markup {
    let mut nodes: Vec<TransactionId> = Vec::new();
    for step in cycle.steps() {
        if !nodes.contains(&step.from) {
            nodes.push(step.from);
        }
    }
    let places = places(nodes.len());
    let place = |id: TransactionId| {
        let at = nodes.iter().position(|node| *node == id);
        places[at.unwrap_or(0)]
    };
    let height = height(nodes.len());
    html! {
        figure.cycle {
            svg viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH) height=(height) role="img"
                aria-label={ "Cycle of transactions: " (cycle) } {
                @for step in cycle.steps() { (arrow(step, place(step.from), place(step.to))) }
                @for (node, at) in nodes.iter().zip(&places) {
                    circle.node cx=(rounded(at.x)) cy=(rounded(at.y)) r=(RADIUS) {}
                    text.name x=(rounded(at.x)) y=(rounded(at.y + 5.0)) { (node) }
                }
            }
            figcaption {
                "An arrow leads to the transaction that must come later: "
                code { "rw" } " it replaced what the first one had read, "
                code { "wr" } " it read what the first one wrote, "
                code { "ww" } " it replaced what the first one wrote, "
                code { "so" } " it follows in the same session, "
                code { "co" } " a third one must see the first, and reads what the second wrote."
            }
        }
    }
}

fn height(nodes: usize) -> f64 {
    let down = if nodes > 2 { DOWN } else { 0.0 };
    (down + MARGIN + RADIUS) * 2.0
}

/// The places of so many transactions, clockwise; two stand side by side.
fn places(count: usize) -> Vec<PlanePoint> {
    let middle = height(count) / 2.0;
    let first = if count == 2 { PI } else { -FRAC_PI_2 };
    let down = if count > 2 { DOWN } else { 0.0 };
    let numbers = (0..u32::try_from(count).unwrap_or(u32::MAX)).map(f64::from);
    let all = f64::from(u32::try_from(count).unwrap_or(u32::MAX)).max(1.0);
    numbers
        .map(|number| {
            let angle = first + TAU * number / all;
            PlanePoint {
                x: WIDTH / 2.0 + ACROSS * angle.cos(),
                y: middle + down * angle.sin(),
            }
        })
        .collect()
}

/// An arrow that bends to its left, with its label outside of the bend.
fn arrow(step: &CycleStep, from: PlanePoint, to: PlanePoint) -> Markup {
    let along = from.toward(to);
    let left = PlanePoint {
        x: along.y,
        y: -along.x,
    };
    let middle = from.plus(along, (to.x - from.x).hypot(to.y - from.y) / 2.0);
    let bend = middle.plus(left, BEND);
    let start = from.plus(from.toward(bend), RADIUS);
    let tip = to.plus(to.toward(bend), RADIUS);
    let inward = bend.toward(tip);
    let base = tip.plus(inward, -HEAD);
    let side = PlanePoint {
        x: inward.y,
        y: -inward.x,
    };
    let (one, other) = (base.plus(side, HEAD / 2.0), base.plus(side, -HEAD / 2.0));
    let corners = [tip, one, other].map(|p| format!("{:.1},{:.1}", p.x, p.y));
    // The curve passes half-way between the straight line and the point it bends to.
    let label = middle.plus(left, BEND / 2.0 + 14.0);
    html! {
        path.edge d={
            "M" (rounded(start.x)) " " (rounded(start.y)) " Q" (rounded(bend.x)) " " (rounded(bend.y))
            " " (rounded(base.x)) " " (rounded(base.y))
        } {}
        polygon.head points=(corners.join(" ")) {}
        text.label x=(rounded(label.x)) y=(rounded(label.y + 4.0)) { (cut(&spelled(&step.label))) }
    }
}

/// A label as the legend spells it, `rw(t0)`: some oracles write the kind of a dependency in capitals.
fn spelled(label: &str) -> String {
    match label.split_once('(') {
        Some((kind, rest)) => format!("{}({rest}", kind.to_lowercase()),
        None => label.to_lowercase(),
    }
}

/// Two digits before a picture's eye are enough.
fn rounded(number: f64) -> String {
    format!("{number:.1}")
}

fn cut(label: &str) -> String {
    match label.chars().count() > LABEL_LETTERS_MAX {
        true => format!(
            "{}...",
            label.chars().take(LABEL_LETTERS_MAX).collect::<String>()
        ),
        false => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transaction_and_dependency_is_drawn_inside_the_picture() {
        for count in 2..7 {
            let steps = (1..=count).map(|n| (TransactionId(n), format!("rw(t0 row {n})")));
            let cycle = TransactionCycle::new(steps.collect()).expect("a cycle");
            let drawn = picture(&cycle).into_string();
            for (what, number) in [("<circle", count), ("<path", count), ("<polygon", count)] {
                assert_eq!(
                    drawn.matches(what).count(),
                    number as usize,
                    "{what} of {count}"
                );
            }
            let height = height(count as usize);
            for place in places(count as usize) {
                assert!(place.x > RADIUS && place.x < WIDTH - RADIUS);
                assert!(place.y > RADIUS && place.y < height - RADIUS);
            }
        }
    }

    #[test]
    fn a_label_of_any_length_is_cut_and_escaped() {
        let steps = vec![
            (TransactionId(1), format!("rw(<b>{})", "x".repeat(90))),
            (TransactionId(2), "ww".to_owned()),
        ];
        let drawn = picture(&TransactionCycle::new(steps).expect("a cycle")).into_string();
        assert!(drawn.contains("rw(&lt;b&gt;xxx") && drawn.contains("..."));
        assert!(!drawn.contains("<b>"));
    }
}
