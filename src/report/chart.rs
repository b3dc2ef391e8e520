//! Verdicts over a run's time, as stacked bars.

use std::time::Duration;

use maud::{Markup, html};

use super::time::length;
use crate::campaign::{VerdictTimeline, Verdicts};

/// The height of the picture in its own unit; a stretch of the timeline is 10 wide.
const HEIGHT: f64 = 100.0;
const STRETCH: usize = 10;

/// The chart; nothing where no case was judged at a known time.
pub(super) fn chart(timeline: &VerdictTimeline, elapsed: Duration) -> Option<Markup> {
    let highest = timeline.stretches.iter().map(Verdicts::total).max()?;
    let stretch_s = timeline.stretch_s.max(1);
    // Time after the last verdict is time, too; a file may say anything, so within reason.
    let all = elapsed.as_secs() / stretch_s + 1;
    let all = usize::try_from(all).unwrap_or(usize::MAX).min(1_000);
    let all = all.max(timeline.stretches.len());
    let stretch = length(Duration::from_secs(stretch_s));
    let stretches = timeline.stretches.iter().enumerate();
    Some(html! {
        figure.chart {
            svg viewBox={ "0 0 " (all * STRETCH) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                aria-label={ "Cases judged in each " (stretch) ", at most " (highest) "; the verdicts are told below" } {
                @for (number, verdicts) in stretches { (bars(number, verdicts, highest)) }
            }
            figcaption {
                span { "begin" }
                span { "cases in each " (stretch) ", at most " (highest) }
                span { (length(elapsed)) }
            }
        }
    })
}

/// The bars of one stretch, one on the other.
fn bars(number: usize, verdicts: &Verdicts, highest: u64) -> Markup {
    let mut bottom = HEIGHT;
    let mut bars = Vec::new();
    for (word, count) in verdicts.by_word() {
        let height = share(count, highest) * HEIGHT;
        if count > 0 {
            bottom -= height;
            bars.push((word, bottom, height));
        }
    }
    html! {
        @for (word, top, height) in bars {
            rect class=(word) x=(number * STRETCH) y=(format!("{top:.2}")) width=(STRETCH) height=(format!("{height:.2}")) {}
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the height of a bar is seen, not read"
)]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bars_of_a_stretch_add_up_to_its_share_of_the_highest() {
        let verdicts = |agree, violation| Verdicts {
            agree,
            violation,
            ..Verdicts::default()
        };
        let timeline = VerdictTimeline {
            stretches: vec![verdicts(3, 1), verdicts(0, 0), verdicts(2, 0)],
            ..VerdictTimeline::default()
        };
        let drawn = chart(&timeline, Duration::from_secs(9)).expect("a chart");
        let drawn = drawn.into_string();
        for bar in [
            r#"<rect class="agree" x="0" y="25.00" width="10" height="75.00">"#,
            r#"<rect class="violation" x="0" y="0.00" width="10" height="25.00">"#,
            r#"<rect class="agree" x="20" y="50.00" width="10" height="50.00">"#,
        ] {
            assert!(drawn.contains(bar), "{bar}: {drawn}");
        }
        assert_eq!(drawn.matches("<rect").count(), 3);
        assert!(drawn.contains("viewBox=\"0 0 100 100\""), "{drawn}");
        assert!(chart(&VerdictTimeline::default(), Duration::ZERO).is_none());
    }
}
