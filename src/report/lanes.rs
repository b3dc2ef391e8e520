//! A case as lanes: a session beside the other, time running down.

use std::collections::BTreeMap;

use crate::export::right_by_kind;
use crate::model::{SessionId, StatementId};
use crate::reproducer::{
    CaseEvidence, CaseFile, CaseLine, Expectation, Reproduced, StatementSpan, Tag, is_disputed,
};

/// One statement in its lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaneStep {
    /// Place of the session among [`Lanes::sessions`].
    pub(super) lane: usize,
    /// `T1.2`; none of a file that does not number its statements.
    pub(super) id: Option<StatementId>,
    pub(super) sql: String,
    /// Reads that its transaction took its snapshot by, right before it.
    pub(super) snapshot_reads: Vec<String>,
    /// It was seen waiting for a lock.
    pub(super) waits: bool,
    /// The last row in which it was under way: its own, unless it waited.
    pub(super) until: usize,
    /// Sessions that it let go on.
    pub(super) resumes: Vec<String>,
    /// The run ended before it was sent.
    pub(super) is_unsent: bool,
    /// The answer that was seen.
    pub(super) seen: Option<Expectation>,
    /// Answers that are right, where the case expects one; of waiting, too.
    pub(super) right: Vec<Expectation>,
    /// What was seen is not what is right.
    pub(super) differs: bool,
}

/// A case as lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lanes {
    /// Each with its level, where the file gives one.
    pub(super) sessions: Vec<(SessionId, Option<String>)>,
    /// In the order in which they were sent, where that is known; else as they stand in the file.
    pub(super) steps: Vec<LaneStep>,
    /// The order and the ends of waits are those of the run that was judged.
    pub(super) is_timed: bool,
    /// What was read after the last session had ended.
    pub(super) afterwards: Vec<LaneStep>,
    /// What made the tables.
    pub(super) setup: Vec<String>,
    /// In how many runs the case showed its finding.
    pub(super) reproduced: Option<Reproduced>,
}

impl Lanes {
    /// The lanes of a case. With the times of its run a wait lasts as long as it did; without, it is told
    /// in words alone.
    pub(super) fn of(file: &CaseFile, evidence: Option<&CaseEvidence>) -> Self {
        let levels = file.levels();
        let sessions: Vec<(SessionId, Option<String>)> = levels
            .into_iter()
            .map(|(session, level)| (session, level.map(|level| level.to_string())))
            .collect();
        let lanes: BTreeMap<SessionId, usize> = sessions
            .iter()
            .enumerate()
            .map(|(lane, (session, _))| (*session, lane))
            .collect();
        let steps = file.lines.iter().filter_map(|line| match line.tag {
            Tag::Session(session) => Some(step(line, lanes.get(&session).copied()?)),
            Tag::Init | Tag::End => None,
        });
        let mut steps: Vec<LaneStep> = steps.collect();
        if let Some((id, right)) = right_by_kind(file)
            && let Some(step) = steps.iter_mut().find(|step| step.id == Some(id))
        {
            step.right.push(right);
            step.differs = differs(step.waits, step.seen.as_ref(), &step.right);
        }
        let spans = evidence.map(|evidence| &evidence.spans);
        let spans = spans.filter(|spans| !spans.is_empty());
        match spans {
            Some(spans) => put_in_time(&mut steps, spans),
            None => steps
                .iter_mut()
                .enumerate()
                .for_each(|(row, step)| step.until = row),
        }
        Self {
            sessions,
            steps,
            is_timed: spans.is_some(),
            afterwards: file.tagged(Tag::End).map(|line| step(line, 0)).collect(),
            setup: file
                .tagged(Tag::Init)
                .map(|line| line.sql.clone())
                .collect(),
            reproduced: file.header.reproduced,
        }
    }
}

/// Orders the steps as they were sent, those that were not last, and has each wait last until it was answered.
fn put_in_time(steps: &mut [LaneStep], spans: &BTreeMap<StatementId, StatementSpan>) {
    let span = |step: &LaneStep| step.id.and_then(|id| spans.get(&id));
    steps.sort_by_key(|step| span(step).map_or((true, None), |span| (false, Some(span.sent))));
    let sent: Vec<_> = steps
        .iter()
        .map(|step| span(step).map(|s| s.sent))
        .collect();
    let lanes: Vec<usize> = steps.iter().map(|step| step.lane).collect();
    for (row, step) in steps.iter_mut().enumerate() {
        let Some(span) = step.id.and_then(|id| spans.get(&id)) else {
            (step.until, step.is_unsent) = (row, true);
            continue;
        };
        step.waits = span.waited;
        let is_under_way = |later: &usize| sent[*later].is_some_and(|sent| sent < span.answered);
        // A session sends nothing while it waits.
        let is_free = |later: &usize| lanes[*later] != step.lane;
        let during =
            (row + 1..sent.len()).take_while(|later| is_under_way(later) && is_free(later));
        step.until = match step.waits {
            true => row + during.count(),
            false => row,
        };
    }
}

/// Whether what was seen, waiting included, is none of what is right.
fn differs(waits: bool, seen: Option<&Expectation>, right: &[Expectation]) -> bool {
    let waits_wrongly = right.iter().any(|right| match right {
        Expectation::Waits => !waits,
        Expectation::DoesNotWait => waits,
        Expectation::Rows(_)
        | Expectation::Affected(_)
        | Expectation::Error(_)
        | Expectation::Accepted => false,
    });
    waits_wrongly || is_disputed(seen, right)
}

fn step(line: &CaseLine, lane: usize) -> LaneStep {
    let texts = |name: &'static str| {
        let notes = line.notes.iter().filter(move |note| note.name == name);
        notes.map(|note| note.text.clone())
    };
    let is_noted = |name| texts(name).next().is_some();
    let waits = is_noted("waits") || is_noted("blocks");
    let seen = line.observations().into_iter().next();
    let right = line.expectations();
    LaneStep {
        lane,
        id: line.number,
        sql: line.sql.clone(),
        snapshot_reads: texts("snapshot-read").collect(),
        waits,
        until: 0,
        resumes: texts("resumes").collect(),
        is_unsent: false,
        differs: differs(waits, seen.as_ref(), &right),
        seen,
        right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Tick;
    use crate::reproducer;

    const CASE: &str = "--! format = 1\n--! isolation = \"READ COMMITTED\"\n\
        /* init */ CREATE TABLE t (a INT);\n\
        /* s1 T1.1 */ BEGIN;\n\
        /* s1 T1.2 */ UPDATE t SET a = 1;  -- @got affected 1\n\
        /* s2 T2.1 */ DELETE FROM t;       -- @waits  @got affected 1  @expect affected 2\n\
        /* s2 T3.1 */ SELECT * FROM t;     -- @got empty\n\
        /* s1 T1.3 */ COMMIT;              -- @resumes s2\n\
        /* s1 T4.1 */ SELECT 1;\n\
        /* end */ SELECT * FROM t;         -- @got (1)  @expect empty\n";

    fn file() -> CaseFile {
        reproducer::read(CASE, "case.sql").expect("it reads")
    }

    fn evidence() -> CaseEvidence {
        let span = |id: &str, sent, answered, waited| {
            let (sent, answered) = (Tick(sent), Tick(answered));
            let span = StatementSpan {
                sent,
                answered,
                waited,
            };
            (id.parse().expect("a number"), span)
        };
        CaseEvidence {
            spans: BTreeMap::from([
                span("T1.1", 1, 2, false),
                span("T1.2", 3, 4, false),
                span("T2.1", 5, 10, true),
                span("T1.3", 7, 9, false),
                span("T3.1", 11, 12, false),
            ]),
            ..CaseEvidence::default()
        }
    }

    fn shown(lanes: &Lanes) -> Vec<(String, usize, usize)> {
        let rows = lanes.steps.iter().enumerate();
        rows.map(|(row, step)| (step.id.expect("numbered").to_string(), row, step.until))
            .collect()
    }

    #[test]
    fn a_wait_lasts_until_the_run_answered_and_what_its_session_sent_next_comes_after() {
        let lanes = Lanes::of(&file(), Some(&evidence()));
        let expected = [
            ("T1.1", 0, 0),
            ("T1.2", 1, 1),
            ("T2.1", 2, 3),
            ("T1.3", 3, 3),
            ("T3.1", 4, 4),
            ("T4.1", 5, 5),
        ];
        assert_eq!(
            shown(&lanes),
            expected.map(|(id, row, until)| (id.to_owned(), row, until))
        );
        let unsent: Vec<bool> = lanes.steps.iter().map(|step| step.is_unsent).collect();
        assert_eq!(unsent, [false, false, false, false, false, true]);
        assert!(lanes.is_timed);
    }

    #[test]
    fn without_the_times_of_the_run_the_order_is_that_of_the_file_and_no_wait_has_a_length() {
        let lanes = Lanes::of(&file(), None);
        let ids: Vec<String> = shown(&lanes).into_iter().map(|(id, ..)| id).collect();
        assert_eq!(ids, ["T1.1", "T1.2", "T2.1", "T3.1", "T1.3", "T4.1"]);
        assert!(shown(&lanes).iter().all(|(_, row, until)| row == until));
        assert!(lanes.steps[2].waits && !lanes.is_timed);
    }

    #[test]
    fn what_differs_is_marked_and_nothing_else() {
        let lanes = Lanes::of(&file(), None);
        let differs: Vec<bool> = lanes.steps.iter().map(|step| step.differs).collect();
        assert_eq!(differs, [false, false, true, false, false, false]);
        assert!(lanes.afterwards[0].differs);
        let text = CASE.replace(
            "@waits  @got affected 1  @expect affected 2",
            "@expect waits",
        );
        let file = reproducer::read(&text, "case.sql").expect("it reads");
        assert!(Lanes::of(&file, None).steps[2].differs);
    }

    /// A finding of locks: its file has no note of what is right, for its kind says it.
    #[test]
    fn a_statement_that_should_have_waited_is_marked() {
        let of_locks = "--! format = 1\n--! engine = \"mariadb\"\n--! isolation = \"SERIALIZABLE\"\n\
            --! kind = \"unkept-row\"\n\
            --! # T2.1 (update) at SERIALIZABLE: it should have waited for a row that was locked\n\
            /* init */ CREATE TABLE t (k INT PRIMARY KEY, v INT);\n\
            /* s1 T1.1 */ BEGIN;\n\
            /* s1 T1.2 */ SELECT v FROM t;        -- @got empty\n\
            /* s2 T2.1 */ UPDATE t SET v = 1;     -- @got affected 0\n\
            /* s1 T1.3 */ COMMIT;\n";
        let file = reproducer::read(of_locks, "case.sql").expect("a case file");
        let steps = Lanes::of(&file, None).steps;
        let marked: Vec<bool> = steps.iter().map(|step| step.differs).collect();
        assert_eq!(marked, [false, false, true, false]);
        assert_eq!(steps[2].right, [Expectation::Waits]);
    }
}
