//! The live lines of a terminal, in 80 columns: time and findings, cases, and what each worker does.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::figures::{clock, rate};
use crate::campaign::{Activity, RunEvent, Statistics};
use crate::cli::terminal::{counted, grouped};

/// The rate is that of about so long.
const WINDOW: Duration = Duration::from_secs(10);

/// Lines of workers at most: a terminal of 24 lines shows findings above them, too.
const WORKERS_MAX: usize = 8;

/// What the live lines tell beside the numbers of the run.
pub(super) struct LiveDisplay {
    started: Instant,
    /// How long this sitting lasts, where that was asked for.
    time: Option<Duration>,
    /// When the last finding came.
    last_finding: Option<Instant>,
    /// Workers that wait for a lost server.
    waiting: usize,
    /// Cases judged, at moments of the last seconds, oldest first.
    recent: VecDeque<(Instant, u64)>,
    /// What each worker does.
    workers: Vec<Activity>,
}

impl LiveDisplay {
    pub(super) fn new(time: Option<Duration>) -> Self {
        Self {
            started: Instant::now(),
            time,
            last_finding: None,
            waiting: 0,
            recent: VecDeque::new(),
            workers: Vec::new(),
        }
    }

    pub(super) fn note(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Finding(_) | RunEvent::Smaller(_) | RunEvent::Flaky(_) => {
                self.last_finding = Some(Instant::now());
            }
            RunEvent::ServerLost { .. } => self.waiting += 1,
            RunEvent::ServerBack { .. } => self.waiting = self.waiting.saturating_sub(1),
            RunEvent::Stopping(_)
            | RunEvent::Unstable { .. }
            | RunEvent::Differs { .. }
            | RunEvent::CanaryUnheard { .. }
            | RunEvent::Trouble(_) => {}
        }
    }

    pub(super) fn activities(&mut self, activities: &[Activity]) {
        self.workers = activities.to_vec();
    }

    /// Two lines of numbers, then one for each worker:
    ///
    /// ```text
    /// 1:02:03, 58:57 left   findings 3, the last 5:02 ago   SERVER LOST
    /// 12,345 cases   41.2/s   undecided 2.1 %   deadlocks 17
    /// worker 1  minimizing case 22: 31 to 9 statements
    /// ```
    pub(super) fn lines(
        &mut self,
        statistics: &Statistics,
        findings: usize,
        elapsed: Duration,
    ) -> Vec<String> {
        let now = Instant::now();
        let mut first = clock(elapsed);
        if let Some(time) = self.time {
            let left = time.saturating_sub(now.duration_since(self.started));
            first.push_str(&format!(", {} left", clock(left)));
        }
        first.push_str(&format!("   findings {findings}"));
        if let Some(last) = self.last_finding {
            let ago = clock(now.duration_since(last));
            first.push_str(&format!(", the last {ago} ago"));
        }
        if self.waiting > 0 {
            first.push_str("   SERVER LOST");
        }
        let cases = statistics.verdicts.total();
        let speed = self.speed(now, cases);
        let mut second = format!("{}   {speed:.1}/s", counted(cases, "case"));
        if let Some(tenths) = (statistics.verdicts.undecided * 1000).checked_div(cases) {
            second.push_str(&format!("   undecided {}.{} %", tenths / 10, tenths % 10));
        }
        let deadlocks = grouped(statistics.deadlocks);
        second.push_str(&format!("   deadlocks {deadlocks}"));
        let mut lines = vec![first, second];
        for (number, activity) in self.workers.iter().take(WORKERS_MAX).enumerate() {
            lines.push(format!("worker {}  {}", number + 1, words(*activity)));
        }
        if let Some(more) = self
            .workers
            .len()
            .checked_sub(WORKERS_MAX)
            .filter(|n| *n > 0)
        {
            lines.push(format!("and {}", counted(more as u64, "more worker")));
        }
        lines
    }

    /// Cases a second, of the last seconds.
    fn speed(&mut self, now: Instant, cases: u64) -> f64 {
        self.recent.push_back((now, cases));
        let is_old = |(at, _): &(Instant, u64)| now.duration_since(*at) > WINDOW;
        while self.recent.len() > 2 && self.recent.front().is_some_and(is_old) {
            self.recent.pop_front();
        }
        let first = self.recent.front().copied().unwrap_or((now, cases));
        rate(cases.saturating_sub(first.1), now.duration_since(first.0))
    }
}

fn words(activity: Activity) -> String {
    match activity {
        Activity::Starting => "connecting".to_owned(),
        Activity::Judging { index } => format!("judging case {index}"),
        Activity::Confirming { index } => format!("running case {index} again"),
        Activity::Minimizing { index, from, to } => {
            format!("minimizing case {index}: {from} to {to} statements")
        }
        Activity::AwaitingServer => "waiting for the server".to_owned(),
        Activity::Ended => "done".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Verdicts;

    const COLUMNS: usize = 80;

    fn statistics(agree: u64, undecided: u64) -> Statistics {
        Statistics {
            verdicts: Verdicts {
                agree,
                undecided,
                ..Verdicts::default()
            },
            ..Statistics::default()
        }
    }

    fn lost() -> RunEvent {
        RunEvent::ServerLost {
            worker: 0,
            index: None,
            error: "gone".to_owned(),
        }
    }

    #[test]
    fn nothing_of_a_run_of_days_is_wider_than_80_columns() {
        let mut display = LiveDisplay::new(Some(Duration::from_secs(700_000)));
        display.note(&lost());
        display.last_finding = Some(Instant::now());
        let (index, from, to) = (98_765_432, 1_031, 1_009);
        display.activities(&[Activity::Minimizing { index, from, to }; 64]);
        let elapsed = Duration::from_secs(999_999);
        let lines = display.lines(&statistics(987_654_321, 7_654_321), 1_234, elapsed);
        assert_eq!(lines.len(), 2 + WORKERS_MAX + 1);
        for line in &lines {
            assert!(line.len() <= COLUMNS, "{}: {line}", line.len());
        }
        let text = lines.join("\n");
        for part in [
            "277:46:39, 194:26:",
            "left   findings 1234, the last 0:00 ago   SERVER LOST",
            "995,308,642 cases",
            "undecided 0.7 %",
            "worker 1  minimizing case 98765432: 1031 to 1009 statements",
            "and 56 more workers",
        ] {
            assert!(text.contains(part), "no {part}: {text}");
        }
    }

    #[test]
    fn a_run_that_begins_tells_what_it_knows() {
        let mut display = LiveDisplay::new(None);
        display.activities(&[Activity::Starting, Activity::Judging { index: 0 }]);
        let lines = display.lines(&Statistics::default(), 0, Duration::from_secs(1));
        let expected = [
            "0:01   findings 0",
            "0 cases   0.0/s   deadlocks 0",
            "worker 1  connecting",
            "worker 2  judging case 0",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_server_is_lost_until_every_worker_has_it_back() {
        let mut display = LiveDisplay::new(None);
        let back = RunEvent::ServerBack {
            worker: 0,
            after: Duration::from_secs(1),
        };
        for (event, is_lost) in [
            (lost(), true),
            (lost(), true),
            (back.clone(), true),
            (back, false),
        ] {
            display.note(&event);
            let lines = display.lines(&statistics(1, 0), 0, Duration::ZERO);
            assert_eq!(lines[0].contains("SERVER LOST"), is_lost, "{lines:?}");
        }
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut display = LiveDisplay::new(None);
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert!(display.speed(start, 0) < 0.1);
        assert!((display.speed(after(5), 500) - 100.0).abs() < 0.1);
        assert!((display.speed(after(14), 590) - 10.0).abs() < 0.1);
    }
}
