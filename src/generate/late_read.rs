//! A commit between the beginning of a transaction and its first look at a table. Where BEGIN takes the snapshot it shows the
//! table as it was, where the first read does as it is: an engine that takes one too early or too late is heard here alone, and
//! drawn one by one, a beginning with its snapshot and such a commit seldom meet.

use super::session::{DrawnStatement, SessionGenerator};
use crate::dialect::Capability;
use crate::model::StatementKind;

/// How many of these transactions, of a hundred, begin with their snapshot, where the engine has a text for that.
const WITH_SNAPSHOT_PERCENT: usize = 75;

/// Where a transaction begins, and where it must begin for another session's commit to come before its first read.
struct LateRead {
    begin: usize,
    place: usize,
}

impl SessionGenerator<'_, '_, '_> {
    /// Has a transaction begin before such a commit in some cases that have a place for it.
    pub(super) fn add_late_read(&mut self, lines: &mut Vec<DrawnStatement>) {
        if !self.entropy.percent(self.options.late_read_percent) {
            return;
        }
        let all = (0..lines.len()).flat_map(|at| late_reads(lines, at));
        let all: Vec<LateRead> = all.collect();
        let Some(late) = self.entropy.pick(&all) else {
            return;
        };
        let mut begin = lines.remove(late.begin);
        self.begin_with_snapshot(&mut begin);
        lines.insert(late.place, begin);
    }

    /// Has a transaction that was not started READ ONLY begin with its snapshot, mostly.
    fn begin_with_snapshot(&mut self, begin: &mut DrawnStatement) {
        let texts = &self.dialect.spelling.begin;
        let takes = self.dialect.supports(Capability::ConsistentSnapshot);
        let may_write = texts.get("read-only") != Some(&begin.sql);
        if let Some(text) = texts.get("consistent-snapshot")
            && takes
            && may_write
            && self.entropy.percent(WITH_SNAPSHOT_PERCENT)
        {
            *begin = DrawnStatement::inside(begin.session, text.clone(), self.dialect);
        }
    }
}

/// The ways in which a transaction that begins here may do so before a commit that its first read comes behind.
fn late_reads(lines: &[DrawnStatement], begin: usize) -> Vec<LateRead> {
    let session = lines[begin].session;
    let is_own = |at: &usize| lines[*at].session == session;
    let Some(first) = (begin + 1..lines.len()).find(is_own) else {
        return Vec::new();
    };
    let table = lines[first].effect.uses.first().map(|used| &used.table);
    let Some(table) = table.filter(|_| reads_first(&lines[begin], &lines[first])) else {
        return Vec::new();
    };
    let room = (0..begin).rev().find(is_own).map_or(0, |before| before + 1);
    let commits = (room..first).filter(|at| !is_own(at) && commits_a_change(lines, *at, table));
    let late = commits.map(|commit| LateRead {
        begin,
        place: commit.min(begin),
    });
    late.collect()
}

/// Whether a transaction begins there and reads before it does anything else.
fn reads_first(begin: &DrawnStatement, first: &DrawnStatement) -> bool {
    let kind = first.effect.kind;
    begin.effect.kind.is_begin() && first.is_inside() && !kind.is_write() && !kind.is_control()
}

/// Whether a line commits a change of a table: a write outside of transactions, or the COMMIT of a transaction with one.
fn commits_a_change(lines: &[DrawnStatement], at: usize, table: &str) -> bool {
    let line = &lines[at];
    let writes =
        |line: &DrawnStatement| line.effect.counted_targets().any(|target| target == table);
    if line.effect.kind != StatementKind::Commit {
        return !line.is_inside() && writes(line);
    }
    let before = lines[..at].iter().rev();
    let own = before.filter(|other| other.session == line.session);
    own.take_while(|other| !other.effect.kind.is_begin())
        .any(writes)
}
