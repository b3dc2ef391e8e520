//! A file whose case has run: what the run showed, beside what a person wrote.

use super::file::{CaseFile, CaseLine};
use super::note::EXPECT;
use super::tag::Tag;

impl CaseFile {
    /// The file that a run of this one's case gave (`of_run` or `of_finding`), with what a person wrote here: comments,
    /// what the registry knows, where the case came from, and what each statement is expected to answer where `ran` does
    /// not expect otherwise. What was observed earlier is replaced.
    pub fn answered_by(&self, ran: Self) -> Self {
        let mut answered = ran;
        let (own, header) = (&self.header, &mut answered.header);
        header.known = own.known.clone();
        header.seed = header.seed.take().or_else(|| own.seed.clone());
        header.comments.before = own.comments.before.clone();
        header.comments.behind = own.comments.behind.clone();
        let told = std::mem::take(&mut header.comments.last);
        let new = told
            .into_iter()
            .filter(|line| !own.comments.last.contains(line));
        header.comments.last = own.comments.last.iter().cloned().chain(new).collect();
        answered.last_comments = self.last_comments.clone();
        let mut ran: Vec<&mut CaseLine> = answered.lines.iter_mut().collect();
        let mut unmatched = Vec::new();
        for written in &self.lines {
            // A run by probes may have another order; that of a session stays.
            let same = |ran: &&mut CaseLine| ran.tag == written.tag && ran.sql == written.sql;
            match ran.iter().position(same) {
                Some(at) => keep_written(written, ran.remove(at)),
                None => unmatched.push(written.clone()),
            }
        }
        // What a person wrote for the end may ask for less than a whole table.
        unmatched.retain(|line| line.tag == Tag::End);
        answered.lines.extend(unmatched);
        answered
    }
}

/// Adds the comments of a line, and what it expects, to the line as it ran.
fn keep_written(written: &CaseLine, ran: &mut CaseLine) {
    ran.comments.clone_from(&written.comments);
    ran.remark.clone_from(&written.remark);
    if ran.notes.iter().any(|note| note.name == EXPECT) {
        return;
    }
    let expected = written.notes.iter().filter(|note| note.name == EXPECT);
    ran.notes.extend(expected.cloned());
}
