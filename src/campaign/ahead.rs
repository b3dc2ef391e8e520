//! One case ahead: the next one is drawn while the engine works on the current one.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::parts::{CaseSource, Drawn};

/// Draws cases, one of them ahead of time in a thread of its own.
///
/// A case is a pure function of its index, so nothing depends on where and when it is drawn.
pub struct Ahead {
    source: Arc<dyn CaseSource>,
    wanted: Sender<u64>,
    drawn: Receiver<(u64, Drawn)>,
    /// The case that the thread draws or holds.
    pending: Option<u64>,
}

impl Ahead {
    /// Starts the thread; it ends when this is dropped.
    pub fn new(source: Arc<dyn CaseSource>) -> Self {
        let (wanted, requests) = bounded::<u64>(1);
        let (replies, drawn) = bounded(1);
        let own = Arc::clone(&source);
        std::thread::spawn(move || {
            for index in requests {
                if replies.send((index, own.case(index))).is_err() {
                    return;
                }
            }
        });
        Self {
            source,
            wanted,
            drawn,
            pending: None,
        }
    }

    /// The case of this index, and the thread is put to `next`, the one that will be asked for
    /// then. Where that was wrong, or the thread is gone, the case is drawn here.
    pub fn case(&mut self, index: u64, next: Option<u64>) -> Drawn {
        // What was drawn for nothing is taken, too: it makes room.
        let ahead = match self.pending.take() {
            Some(_) => self.drawn.recv().ok(),
            None => None,
        };
        let case = match ahead {
            Some((drawn, case)) if drawn == index => case,
            _ => self.source.case(index),
        };
        self.pending = next.filter(|next| self.wanted.try_send(*next).is_ok());
        case
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;
    use crate::model::TestCase;

    /// Remembers which cases were drawn, and by which thread.
    #[derive(Default)]
    struct Counted(Mutex<Vec<(u64, std::thread::ThreadId)>>);

    impl CaseSource for Counted {
        fn case(&self, index: u64) -> Drawn {
            let mut drawn = self.0.lock().expect("no thread panics");
            drawn.push((index, std::thread::current().id()));
            let empty = TestCase::new(vec![], vec![], vec![], BTreeMap::new(), None);
            Drawn {
                case: empty,
                productions: [(
                    crate::model::StatementId::SETUP,
                    vec![index.to_string().into()],
                )]
                .into(),
            }
        }
    }

    fn number(drawn: &Drawn) -> &str {
        drawn
            .productions
            .values()
            .next()
            .map_or("", |names| &*names[0])
    }

    #[test]
    fn every_case_is_the_one_asked_for_whatever_was_announced() {
        let source = Arc::new(Counted::default());
        let mut ahead = Ahead::new(Arc::clone(&source) as Arc<dyn CaseSource>);
        for (index, next, ahead_of_time) in [
            (3, Some(4), false),
            (4, Some(5), true),
            // Another one than announced, and then none announced.
            (9, None, false),
            (10, Some(11), false),
            (11, Some(12), true),
        ] {
            assert_eq!(number(&ahead.case(index, next)), index.to_string());
            let by = source
                .0
                .lock()
                .expect("no thread panics")
                .iter()
                .rev()
                .find(|(drawn, _)| *drawn == index)
                .map(|(_, by)| *by);
            let here = by == Some(std::thread::current().id());
            assert_eq!(here, !ahead_of_time, "case {index}");
        }
    }
}
