//! What must be seen under causal consistency: vector clocks over sessions.

use crate::checker::resolved::resolve::Resolved;

/// Calls `edge(t2, t1, key, reader)` for the last `t2` of every session that leads to the reader,
/// writes the key, and neither is the `t1` that the key was read from nor leads to it: those come
/// before it anyway. Earlier ones of the session come before by session order.
///
/// `order` is a topological order of SO and WR.
pub(super) fn forced(
    resolved: &Resolved<'_>,
    order: &[u32],
    mut edge: impl FnMut(u32, u32, u32, u32),
) {
    let sessions = resolved.history.session_count();
    let mut writers = Writers::of(resolved);
    let before = resolved.session_predecessors();
    // Row t: for each session how many of its transactions lead to t.
    let mut clocks = vec![0u32; resolved.len() * sessions];
    let mut places = vec![0u32; resolved.len()];
    let mut counts = vec![0u32; sessions];
    for transaction in resolved.live() {
        let count = &mut counts[resolved.history.session_of(transaction) as usize];
        *count += 1;
        places[transaction as usize] = *count;
    }
    let mut row = vec![0u32; sessions];
    for transaction in order.iter().copied() {
        if transaction == 0 || !resolved.is_live[transaction as usize] {
            continue;
        }
        row.fill(0);
        let sources = resolved.reads(transaction).iter();
        let sources = sources.map(|version| resolved.writer[*version as usize]);
        for source in sources
            .chain([before[transaction as usize]])
            .filter(|s| *s > 0)
        {
            let session = resolved.history.session_of(source) as usize;
            let at = source as usize * sessions;
            // What led to a source that is known already is known too.
            if row[session] >= places[source as usize] {
                continue;
            }
            for (mine, theirs) in row.iter_mut().zip(&clocks[at..at + sessions]) {
                *mine = (*mine).max(*theirs);
            }
            row[session] = row[session].max(places[source as usize]);
        }
        let at = transaction as usize * sessions;
        clocks[at..at + sessions].copy_from_slice(&row);
        for version in resolved.reads(transaction) {
            let key = resolved.key[*version as usize];
            let writer = resolved.writer[*version as usize];
            let begin = writer as usize * sessions;
            let led = &clocks[begin..begin + sessions];
            for run in writers.of_key(key) {
                let session = writers.runs[run].0 as usize;
                let seen = row[session];
                if seen <= led[session] {
                    continue;
                }
                let Some((place, last)) = writers.last_of(run, seen) else {
                    continue;
                };
                if place <= led[session] {
                    continue;
                }
                if last != writer && last != transaction {
                    edge(last, writer, key, transaction);
                }
            }
        }
    }
}

/// The writers of every key by session, in session order: `(place in the session, transaction)`.
struct Writers {
    /// All of them, sorted by key, session, place.
    all: Vec<(u32, u32)>,
    /// Of every run of one key and session: the session, and where it begins.
    runs: Vec<(u32, u32)>,
    /// Where the runs of a key begin; one entry more than keys.
    begins: Vec<u32>,
    /// Of every run, how much of it was seen the last time that somebody asked.
    hints: Vec<u32>,
}

impl Writers {
    fn of(resolved: &Resolved<'_>) -> Self {
        let history = resolved.history;
        let mut places = vec![0u32; history.session_count()];
        let mut writes: Vec<(u32, u32, u32, u32)> = Vec::with_capacity(resolved.writer.len());
        for transaction in resolved.live() {
            let session = history.session_of(transaction);
            places[session as usize] += 1;
            let place = places[session as usize];
            for version in resolved.writes(transaction) {
                let key = resolved.key[version as usize];
                writes.push((key, session, place, transaction));
            }
        }
        writes.sort_unstable();
        let mut all = Vec::with_capacity(writes.len());
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let mut begins = Vec::with_capacity(history.key_count() + 1);
        let mut last = None;
        for (key, session, place, transaction) in writes {
            while begins.len() <= key as usize {
                begins.push(runs.len() as u32);
            }
            if last != Some((key, session)) {
                runs.push((session, all.len() as u32));
                last = Some((key, session));
            }
            all.push((place, transaction));
        }
        begins.resize(history.key_count() + 1, runs.len() as u32);
        runs.push((0, all.len() as u32));
        let hints = vec![0; runs.len()];
        Self {
            all,
            runs,
            begins,
            hints,
        }
    }

    /// The runs of a key.
    fn of_key(&self, key: u32) -> std::ops::Range<usize> {
        let at = key as usize;
        self.begins[at] as usize..self.begins[at + 1] as usize
    }

    /// The last of a run at or before a place in its session.
    ///
    /// Who asks next has mostly seen about as much as who asked last: looking from there takes one
    /// or two cache misses where halving the run takes as many as it can be halved.
    fn last_of(&mut self, run: usize, seen: u32) -> Option<(u32, u32)> {
        let (begin, end) = (self.runs[run].1, self.runs[run + 1].1);
        let writes = &self.all[begin as usize..end as usize];
        let count = seen_of(writes, self.hints[run] as usize, seen);
        self.hints[run] = count as u32;
        count.checked_sub(1).map(|at| writes[at])
    }
}

/// How many of the writes are at or before a place, looked for in growing steps from a guess.
fn seen_of(writes: &[(u32, u32)], guess: usize, seen: u32) -> usize {
    let is_seen = |at: usize| writes[at].0 <= seen;
    let mut step = 1;
    // All before `from` are seen, nothing from `to` on is.
    let (from, to) = if guess < writes.len() && is_seen(guess) {
        let mut from = guess + 1;
        while from + step < writes.len() && is_seen(from + step) {
            from += step + 1;
            step *= 2;
        }
        (from, writes.len().min(from + step))
    } else {
        let mut to = guess.min(writes.len());
        while to >= step && !is_seen(to - step) {
            to -= step;
            step *= 2;
        }
        ((to + 1).saturating_sub(step).min(to), to)
    };
    from + writes[from..to].partition_point(|(place, _)| *place <= seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_guess_what_is_seen_is_counted() {
        for length in 0..40u32 {
            let writes: Vec<(u32, u32)> = (0..length).map(|at| (at * 3 + 1, at)).collect();
            for guess in 0..=45 {
                for seen in 0..130 {
                    let expected = writes.iter().filter(|(place, _)| *place <= seen).count();
                    let found = seen_of(&writes, guess, seen);
                    assert_eq!(found, expected, "{length} {guess} {seen}");
                }
            }
        }
    }
}
