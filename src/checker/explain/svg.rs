//! A counterexample as a picture: its transactions on a circle, its edges as arrows between them.

use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::fmt::Write;

use crate::checker::evidence::counterexample::{Counterexample, Edge, Reason};
use crate::checker::explain::label::label;
use crate::checker::explain::links::links;
use crate::checker::explain::lost_update::as_told;
use crate::checker::explain::words::{
    event_in_words, origin_in_words, sentences, span_in_words, title,
};
use crate::history::{History, Txn};
use crate::model::{printable, wrapped};

/// Sizes in the picture's own unit, about a pixel.
const LETTER: f64 = 7.3;
const LINE: f64 = 18.0;
const PADDING: f64 = 10.0;
/// Between two boxes that are neighbours on the circle: an arrow and its label stand there.
const GAP: f64 = 120.0;
const MARGIN: f64 = 30.0;
/// How far an arrow bends from the straight line, as a share of its length.
const BEND: f64 = 0.16;

/// Letters of a line in a box, and lines of it: longer transactions are cut, and say so.
const LETTERS_MAX: usize = 34;
const LINES_MAX: usize = 8;

/// Letters of the reason at an arrow.
const LABEL_LETTERS_MAX: usize = 26;

/// Letters of a line below the picture, of a word in it, and lines of one reason.
const NOTE_LETTERS_MAX: usize = 110;
const WORD_LETTERS_MAX: usize = 48;
const NOTE_LINES_MAX: usize = 4;

const STYLE: &str = "text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}\
    .title{font-weight:bold;font-size:15px}.name{font-weight:bold}.note{fill:#57606a}\
    .box{fill:#f6f8fa;stroke:#57606a}.label{fill:#fff}\
    path{fill:none;stroke-width:1.6}";

#[derive(Clone, Copy, Debug)]
struct CanvasPoint {
    x: f64,
    y: f64,
}

/// One transaction: its text and its place.
struct Node {
    transaction: Txn,
    name: String,
    lines: Vec<String>,
    center: CanvasPoint,
    width: f64,
    height: f64,
}

/// The counterexample as an SVG document, which needs nothing beside itself.
pub fn svg(history: &History, counterexample: &Counterexample) -> String {
    let nodes = nodes(history, counterexample);
    let arrows = arrows(history, counterexample, &nodes);
    let sentences = sentences(history, counterexample);
    let words: Vec<String> = sentences.iter().flat_map(|words| lines_of(words)).collect();
    let title = title(history, counterexample);

    let (from, to) = bounds(&nodes, &arrows);
    let letters = words.iter().map(|line| line.chars().count());
    // The title's letters are larger.
    let letters = letters.chain([title.chars().count() * 5 / 4]).max();
    let graph_width = (to.x - from.x).max(width(letters.unwrap_or(0)));
    let top = MARGIN + LINE * 2.0;
    let below = top + (to.y - from.y) + LINE * 2.0;
    let page_width = graph_width + MARGIN * 2.0;
    let page_height = below + count(words.len()) * LINE + MARGIN / 2.0;

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {page_width:.0} {page_height:.0}\" \
         width=\"{page_width:.0}\" height=\"{page_height:.0}\" role=\"img\">\n\
         <title>{0}</title>\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        escaped(&title)
    );
    text(&mut out, (MARGIN, MARGIN), "title", &title);
    let _ = writeln!(
        out,
        "<g transform=\"translate({:.1} {:.1})\">",
        MARGIN - from.x,
        top - from.y
    );
    for arrow in &arrows {
        arrow.draw(&mut out);
    }
    for node in &nodes {
        draw(&mut out, node);
    }
    out.push_str("</g>\n");
    for (number, line) in words.iter().enumerate() {
        let y = below + count(number) * LINE;
        text(&mut out, (MARGIN, y), "note", line);
    }
    out.push_str("</svg>\n");
    out
}

/// The corners of what boxes, arrows and their labels take.
fn bounds(nodes: &[Node], arrows: &[Arrow]) -> (CanvasPoint, CanvasPoint) {
    let boxes = nodes.iter().map(|n| (n.center, n.width, n.height));
    let labels = arrows.iter().map(|a| (a.middle(), a.label_width(), LINE));
    let mut from = CanvasPoint { x: 0.0, y: 0.0 };
    let mut to = from;
    for (center, width, height) in boxes.chain(labels) {
        from.x = from.x.min(center.x - width / 2.0);
        from.y = from.y.min(center.y - height / 2.0);
        to.x = to.x.max(center.x + width / 2.0);
        to.y = to.y.max(center.y + height / 2.0);
    }
    (from, to)
}

/// The transactions in the order of the cycle, the initial one among them if an edge names it.
fn nodes(history: &History, counterexample: &Counterexample) -> Vec<Node> {
    let mut order: Vec<Txn> = Vec::new();
    let ends = counterexample.edges.iter().flat_map(|e| [e.from, e.to]);
    for transaction in ends.chain(counterexample.transactions()) {
        if !order.contains(&transaction) {
            order.push(transaction);
        }
    }
    let node = |transaction: Txn| {
        let name = if transaction.is_initial() {
            "the beginning".to_owned()
        } else {
            shown(&origin_in_words(history, transaction), LETTERS_MAX)
        };
        let mut lines = events(history, transaction);
        if let Some(span) = span_in_words(history, counterexample, transaction) {
            lines.insert(0, span);
        }
        let letters = lines.iter().chain([&name]).map(|line| line.chars().count());
        Node {
            transaction,
            width: width(letters.max().unwrap_or(0)) + PADDING * 2.0,
            height: (count(lines.len()) + 1.0) * LINE + PADDING * 2.0,
            name,
            lines,
            center: CanvasPoint { x: 0.0, y: 0.0 },
        }
    };
    let mut nodes: Vec<Node> = order.into_iter().map(node).collect();
    place(&mut nodes);
    nodes
}

/// The events of a transaction, as many to a line as fit.
fn events(history: &History, transaction: Txn) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for event in history.events(transaction) {
        let word = shown(&event_in_words(history, transaction, event), LETTERS_MAX);
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < LETTERS_MAX => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    if lines.len() > LINES_MAX {
        let left = lines.len() - LINES_MAX + 1;
        lines.truncate(LINES_MAX - 1);
        lines.push(format!("... and {left} lines more"));
    }
    lines
}

/// Puts the boxes on a circle around nought, the first one on top; two stand side by side.
fn place(nodes: &mut [Node]) {
    if nodes.len() < 2 {
        return;
    }
    let diagonal = |node: &Node| node.width.hypot(node.height);
    let apart = nodes.iter().map(diagonal).fold(0.0, f64::max) + GAP;
    let step = TAU / count(nodes.len());
    let radius = apart / 2.0 / (step / 2.0).sin();
    let first = if nodes.len() == 2 { PI } else { -FRAC_PI_2 };
    for (number, node) in nodes.iter_mut().enumerate() {
        let angle = first + step * count(number);
        node.center = CanvasPoint {
            x: radius * angle.cos(),
            y: radius * angle.sin(),
        };
    }
}

/// The arrows of the cycle, and dashed ones beside it.
fn arrows(history: &History, counterexample: &Counterexample, nodes: &[Node]) -> Vec<Arrow> {
    let edges = as_told(history, counterexample);
    let mut arrows: Vec<Arrow> = edges
        .iter()
        .filter_map(|edge| Arrow::of(history, nodes, edge, BEND))
        .collect();
    let links = links(history, counterexample);
    for link in &links {
        let at = |wanted: Txn| nodes.iter().position(|node| node.transaction == wanted);
        let (Some(from), Some(to)) = (at(link.from), at(link.to)) else {
            continue;
        };
        // Clockwise the left is outside, where others of the circle stand between the two.
        let steps = (to + nodes.len() - from) % nodes.len();
        let is_outside = steps > 1 && steps * 2 < nodes.len();
        let has_opposite = links.iter().any(|l| (l.from, l.to) == (link.to, link.from));
        let bend = if is_outside && !has_opposite {
            -BEND
        } else {
            BEND
        };
        let arrow = Arrow::of(history, nodes, link, bend);
        arrows.extend(arrow.map(|arrow| Arrow {
            is_dashed: true,
            ..arrow
        }));
    }
    arrows
}

/// An arrow from box to box, bent to its left, so that two opposite ones do not meet.
struct Arrow {
    start: CanvasPoint,
    control: CanvasPoint,
    end: CanvasPoint,
    colour: &'static str,
    label: String,
    /// Beside the cycle.
    is_dashed: bool,
}

impl Arrow {
    /// None for an edge of a transaction to itself. It bends to the left of its way, or to the right.
    fn of(history: &History, nodes: &[Node], edge: &Edge, bend: f64) -> Option<Self> {
        let find = |wanted: Txn| nodes.iter().find(|node| node.transaction == wanted);
        let (from, to) = (find(edge.from)?, find(edge.to)?);
        let (dx, dy) = (to.center.x - from.center.x, to.center.y - from.center.y);
        let control = CanvasPoint {
            x: f64::midpoint(from.center.x, to.center.x) + dy * bend * 2.0,
            y: f64::midpoint(from.center.y, to.center.y) - dx * bend * 2.0,
        };
        (edge.from != edge.to).then(|| Self {
            start: border(from, control),
            control,
            end: border(to, control),
            colour: colour(edge.reason),
            label: shown(&label(history, edge.reason), LABEL_LETTERS_MAX),
            is_dashed: false,
        })
    }

    /// The middle of the curve: half of it is the control point's.
    fn middle(&self) -> CanvasPoint {
        CanvasPoint {
            x: (self.start.x + 2.0 * self.control.x + self.end.x) / 4.0,
            y: (self.start.y + 2.0 * self.control.y + self.end.y) / 4.0,
        }
    }

    fn label_width(&self) -> f64 {
        width(self.label.chars().count()) + 4.0
    }

    fn draw(&self, out: &mut String) {
        let (start, control, end, colour) = (self.start, self.control, self.end, self.colour);
        let dashes = match self.is_dashed {
            true => " stroke-dasharray=\"5 4\"",
            false => "",
        };
        let _ = writeln!(
            out,
            "<path d=\"M{:.1},{:.1} Q{:.1},{:.1} {:.1},{:.1}\" stroke=\"{colour}\"{dashes}/>",
            start.x, start.y, control.x, control.y, end.x, end.y
        );
        head(out, control, end, colour);
        let (middle, width) = (self.middle(), self.label_width());
        let _ = writeln!(
            out,
            "<rect class=\"label\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{LINE}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" style=\"fill:{colour}\">{}</text>",
            middle.x - width / 2.0,
            middle.y - LINE / 2.0,
            middle.x,
            middle.y + 4.0,
            escaped(&self.label)
        );
    }
}

/// The head of an arrow that comes from `before` and ends at `end`.
fn head(out: &mut String, before: CanvasPoint, end: CanvasPoint, colour: &str) {
    let angle = (end.y - before.y).atan2(end.x - before.x);
    let corner = |turn: f64| CanvasPoint {
        x: end.x - 11.0 * (angle + turn).cos(),
        y: end.y - 11.0 * (angle + turn).sin(),
    };
    let (left, right) = (corner(0.4), corner(-0.4));
    let _ = writeln!(
        out,
        "<polygon points=\"{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\" fill=\"{colour}\"/>",
        end.x, end.y, left.x, left.y, right.x, right.y
    );
}

/// Where the line from the middle of a box to a point leaves the box.
fn border(node: &Node, toward: CanvasPoint) -> CanvasPoint {
    let (dx, dy) = (toward.x - node.center.x, toward.y - node.center.y);
    let share = |half: f64, along: f64| {
        if along.abs() < f64::EPSILON {
            f64::INFINITY
        } else {
            half / along.abs()
        }
    };
    let share = share(node.width / 2.0, dx).min(share(node.height / 2.0, dy));
    CanvasPoint {
        x: node.center.x + dx * share,
        y: node.center.y + dy * share,
    }
}

fn draw(out: &mut String, node: &Node) {
    let (left, top) = (
        node.center.x - node.width / 2.0,
        node.center.y - node.height / 2.0,
    );
    let _ = writeln!(
        out,
        "<rect class=\"box\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\"/>",
        node.width, node.height
    );
    let named = [("name", &node.name)];
    let lines = named.into_iter().chain(node.lines.iter().map(|l| ("", l)));
    for (number, (class, line)) in lines.enumerate() {
        let y = top + PADDING + LINE * (count(number) + 0.75);
        text(out, (left + PADDING, y), class, line);
    }
}

fn text(out: &mut String, (x, y): (f64, f64), class: &str, line: &str) {
    let line = escaped(line);
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{line}</text>"
    );
}

/// Dependencies have a colour each, so that the kind of a cycle is seen at once.
fn colour(reason: Reason) -> &'static str {
    match reason {
        Reason::WriteRead(_) => "#0969da",
        Reason::WriteWrite(_) => "#1a7f37",
        Reason::ReadWrite(_) => "#cf222e",
        Reason::Session | Reason::RealTime => "#57606a",
        Reason::SeenBy { .. } => "#8250df",
        Reason::Event(_)
        | Reason::Listed { .. }
        | Reason::Lists(_)
        | Reason::Early
        | Reason::Missed(_)
        | Reason::Overlap(_) => "#9a6700",
    }
}

/// Text of a file as it may stand in a picture: on one line, nothing in it that turns the direction of
/// writing, and from what is longer than so many letters the middle left out.
fn shown(text: &str, letters_max: usize) -> String {
    let text = printable(text).replace('\n', " ");
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= letters_max {
        return text;
    }
    let kept = letters_max.saturating_sub(3);
    let tail = kept / 3;
    let (head, tail) = (&letters[..kept - tail], &letters[letters.len() - tail..]);
    format!(
        "{}...{}",
        head.iter().collect::<String>(),
        tail.iter().collect::<String>()
    )
}

/// A sentence on as many lines as it needs, long words cut.
fn lines_of(sentence: &str) -> Vec<String> {
    let words = sentence.split(' ');
    let words: Vec<String> = words.map(|word| shown(word, WORD_LETTERS_MAX)).collect();
    // A text of the history may be many words.
    let sentence = shown(&words.join(" "), NOTE_LETTERS_MAX * NOTE_LINES_MAX);
    wrapped(&sentence, NOTE_LETTERS_MAX, "")
}

/// What XML gives a meaning to, and what it does not allow at all.
fn escaped(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    for letter in line.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            control if control.is_control() => safe.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

fn width(letters: usize) -> f64 {
    count(letters) * LETTER
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of letters, lines and transactions are small"
)]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::Anomaly;
    use crate::checker::explain::dot::dot;
    use crate::history::{Atom, Builder, Event, Head, Kind, Span, Status};

    /// One transaction, whose start is early, which reads this value.
    fn reader(value: &str) -> (History, Counterexample) {
        let mut builder = Builder::new(Atom::from(0));
        let key = builder.text(value).expect("a text");
        let key = builder.key(key).expect("a key");
        let value = builder.text(value).expect("a text");
        let head = Head {
            session: 1.into(),
            label: 1.into(),
            status: Status::Committed,
            timestamps: Some(Span { from: 3, to: 7 }),
            real_time: None,
        };
        let kind = Kind::Read;
        let read = Event { kind, key, value };
        builder.transaction(&head, vec![read]).expect("one");
        let history = builder.finish();
        let (from, to) = (Txn::INITIAL, Txn::new(1));
        let reason = Reason::Missed(0);
        let found = Counterexample {
            anomaly: Anomaly::TimestampExternal,
            edges: vec![Edge { from, to, reason }],
            core: Vec::new(),
        };
        (history, found)
    }

    fn width_of(picture: &str) -> f64 {
        let begins = picture.find(" width=\"").expect("a width") + 8;
        let rest = &picture[begins..];
        let ends = rest.find('"').expect("its end");
        rest[..ends].parse().expect("a number")
    }

    #[test]
    fn values_of_any_length_fit_on_a_page_and_both_their_ends_are_shown() {
        let words = "many words ".repeat(10_000);
        for long in ["x".repeat(160_000), words] {
            let (history, found) = reader(&format!("begin{long}end"));
            let picture = svg(&history, &found);
            let width = width_of(&picture);
            assert!(width < 1_200.0, "{width} units");
            assert!(picture.len() < 10_000, "{} bytes", picture.len());
            for part in ["begin", "...", "end", "left 0", "@3..7"] {
                assert!(picture.contains(part), "{part}: {picture}");
            }
        }
        // What fits is not touched.
        let (history, found) = reader("short");
        assert!(svg(&history, &found).contains("r(short,short)"));
    }

    #[test]
    fn no_picture_holds_what_turns_the_direction_of_writing() {
        let (history, found) = reader("a\u{202e}b\u{2066}c\u{1b}[2Jd\u{9b}e");
        for picture in [svg(&history, &found), dot(&history, &found)] {
            let is_safe = |letter: char| letter == '\n' || (' '..='~').contains(&letter);
            assert!(picture.chars().all(is_safe), "{picture:?}");
            for escape in ["u{202e}", "u{2066}", "u{1b}", "u{9b}"] {
                assert!(picture.contains(escape), "{escape}: {picture}");
            }
        }
    }
}
