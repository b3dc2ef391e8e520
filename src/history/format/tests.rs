//! Every reader against torn and altered files: an error or a history, never a panic.

use super::*;
use crate::history::{Atom, Builder, Event, Head, Key, Kind, Span, Status, Txn};

/// A plain source of numbers, the same in every run (splitmix64).
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % bound
    }
}

/// A history that every format can hold.
fn plain() -> History {
    let mut builder = Builder::new(Atom::from(0));
    for at in 0..4u32 {
        let head = Head {
            session: (at % 2).into(),
            label: (at + 1).into(),
            status: Status::Committed,
            timestamps: Some(Span {
                from: i64::from(at) * 2,
                to: i64::from(at) * 2 + 1,
            }),
            real_time: None,
        };
        let key = builder.key((at % 3).into()).expect("few keys");
        let events = [(Kind::Read, 0), (Kind::Write, at + 1)];
        let events = events.map(|(kind, value)| Event {
            kind,
            key,
            value: value.into(),
        });
        builder
            .transaction(&head, events)
            .expect("few transactions");
    }
    builder.finish()
}

/// One file of every format.
fn samples() -> Vec<(&'static Format, Vec<u8>)> {
    let mut samples = Vec::new();
    for format in FORMATS {
        let mut bytes = Vec::new();
        match format.write {
            Some(write) => write(&plain(), &mut bytes).expect("every format holds it"),
            None if format.name == "cobra" => {
                for (letter, numbers) in [(b'S', 1u64), (b'W', 3), (b'R', 4), (b'C', 1)] {
                    bytes.push(letter);
                    bytes.extend((0..numbers).flat_map(|_| 5u64.to_be_bytes()));
                }
            }
            None => bytes.extend_from_slice(
                b"INFO  jepsen.util - 0\t:invoke\t:cas\t[2 3]\n\
                  INFO  jepsen.util - 0\t:ok\t:cas\t[2 3]\n\
                  INFO  jepsen.util - 1\t:info\t:write\t4\ttimed-out\n",
            ),
        }
        samples.push((format, bytes));
    }
    let list = b"{:type :invoke, :process 0, :value [[:append 1 2] [:r 1 nil]]}\n\
                 {:type :ok, :process 0, :value [[:append 1 2] [:r 1 [2]]]}\n";
    let elle = by_name("elle").expect("a format");
    samples.push((elle, list.to_vec()));
    samples
}

#[test]
fn every_format_knows_its_own_and_reads_it() {
    for (format, bytes) in samples() {
        // A pipe may give a byte at a time.
        for buffer in [1, 7, bytes.len()] {
            let stream = std::io::BufReader::with_capacity(buffer, &bytes[..]);
            let (found, mut stream) = detect(stream).expect("some format knows it");
            assert_eq!(found.name, format.name, "{buffer}");
            let history = (format.read)(&mut stream).expect("it reads what it wrote");
            assert!(!history.is_empty(), "{}", format.name);
        }
    }
}

/// Tabs or blanks, as Porcupine's logs have the one or the other.
#[test]
fn a_log_of_jepsen_says_the_same_however_its_words_are_parted() {
    let tabs = "INFO  jepsen.util - 0\t:invoke\t:cas\t[2 3]\n\
                INFO  jepsen.core - somebody else's\n\
                INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n\
                INFO  jepsen.util - 0\t:ok\t:cas\t[2 3]\n\
                INFO  jepsen.util - 1\t:info\t:write\t:timed-out\n";
    let format = by_name("jepsen-log").expect("a format");
    let read = |text: &str| (format.read)(&mut text.as_bytes()).expect("well-formed");
    let (tabs, blanks) = (read(tabs), read(&tabs.replace('\t', "   ")));
    assert_eq!((tabs.len() - 1, tabs.event_count()), (2, 3));
    assert_eq!((blanks.len() - 1, blanks.event_count()), (2, 3));
    let events = |history: &History| history.events(Txn::new(1)).collect::<Vec<_>>();
    assert_eq!(events(&tabs), events(&blanks));
}

#[test]
fn what_begins_a_file_is_told_and_a_byte_order_mark_is_passed_over() {
    let refusal = |bytes: &'static [u8]| match detect(bytes) {
        Ok((format, _)) => panic!("it is taken for {}", format.name),
        Err(error) => error.to_string(),
    };
    assert!(refusal(b"").ends_with("the file is empty"));
    assert!(refusal(b"\x7fELF").contains("begins with \"\\u{7f}ELF\""));
    assert!(refusal(b"<html> \"ops\"").contains("<html>"));
    let marked = [
        b"\xef\xbb\xbf",
        HEADER.as_bytes(),
        b"\ncommitted 1 w(x,1)\n",
    ]
    .concat();
    let (format, mut stream) = detect(&marked[..]).expect("ours");
    let history = (format.read)(&mut stream).expect("well-formed");
    assert_eq!(history.len(), 2);
}

/// The option is for what a file leaves open.
#[test]
fn an_initial_value_of_the_file_is_kept() {
    let ours = by_name("rashomon").expect("a format");
    let initial = |text: &str| {
        let text = format!("{HEADER}\n{text}committed 1 r(x,0) r(y,0)\n");
        let mut history = (ours.read)(&mut text.as_bytes()).expect("well-formed");
        history.set_initial(Atom::from(9));
        [0, 1].map(|key| history.initial(Key::new(key)))
    };
    let [zero, three, nine] = [0, 3, 9].map(Atom::from);
    assert_eq!(initial(""), [nine, nine]);
    assert_eq!(initial("initial 0\n"), [zero, zero]);
    assert_eq!(initial("initial(x) 3\n"), [three, nine]);
    let text = by_name("text").expect("a format");
    let first = "w(1,4,0,0)\nr(1,4,1,1)\n";
    let mut history = (text.read)(&mut first.as_bytes()).expect("well-formed");
    history.set_initial(nine);
    assert_eq!(history.initial(Key::new(0)), Atom::from(4));
}

/// What the peers tell apart is told apart here.
#[test]
fn keys_that_differ_in_their_kind_or_behind_the_basic_plane_are_different_keys() {
    let elle = by_name("elle").expect("a format");
    let keys = |text: &str| {
        let history = (elle.read)(&mut text.as_bytes()).expect("well-formed");
        let keys = history.all_keys().map(|key| history.show(history.key(key)));
        let keys: Vec<String> = keys.collect();
        let mut written = Vec::new();
        (elle.write.expect("a writer"))(&history, &mut written).expect("it holds them");
        let again = (elle.read)(&mut &written[..]).expect("well-formed");
        let known = again.event_range(Txn::new(1)).map(|at| again.event(at).key);
        let known = known.map(|key| again.show(again.key(key)));
        assert!(known.eq(keys.iter().cloned()), "{text}");
        keys
    };
    let kinds = r#"{:type :ok, :value [[:w :x 1] [:w "x" 2] [:w x 3] [:w ":x" 4] [:w "'x" 5]]}"#;
    assert_eq!(keys(kinds), [":x", "x", "'x", "\":x\"", "\"'x\""]);
    let pairs = r#"{"type":"ok","value":[["w","\ud83d\ude00",1],["w","\ud83d\ude01",2]]}"#;
    assert_eq!(keys(pairs), ["\u{1f600}", "\u{1f601}"]);
}

/// Published histories have such keys: they are hashes.
#[test]
fn keys_and_values_of_dbcop_are_unsigned_integers_of_64_bits() {
    let mut binary = vec![0u8; 64];
    let event = |write: u8, key: u64, value: u64| {
        [&[write][..], &key.to_le_bytes(), &value.to_le_bytes(), &[1]].concat()
    };
    for count in [1u64, 1, 3] {
        binary.extend(count.to_le_bytes());
    }
    binary.extend(event(1, 1 << 63, u64::MAX));
    binary.extend(event(0, u64::MAX, 0));
    binary.extend(event(0, 7, 1));
    binary.push(1);
    let json = br#"{"data":[[{"events":[
        {"write":true,"variable":9223372036854775808,"value":18446744073709551615,"success":true},
        {"write":false,"variable":18446744073709551615,"value":0,"success":true},
        {"write":false,"variable":7,"value":1,"success":true}],"success":true}]]}"#;
    for (name, bytes) in [("dbcop", &binary[..]), ("dbcop-json", &json[..])] {
        let format = by_name(name).expect("a format");
        let history = (format.read)(&mut &bytes[..]).expect("well-formed");
        let keys = (0..3).map(|key| history.show(history.key(Key::new(key))));
        assert!(
            keys.eq(["9223372036854775808", "18446744073709551615", "7"]),
            "{name}"
        );
        assert_eq!(history.show(history.event(0).value), u64::MAX.to_string());
        let mut written = Vec::new();
        (format.write.expect("a writer"))(&history, &mut written).expect("it holds them");
        let again = (format.read)(&mut &written[..]).expect("well-formed");
        let events = |history: &History| history.events(Txn::new(1)).collect::<Vec<_>>();
        assert_eq!(events(&again), events(&history), "{name}");
    }
}

/// The bound is on a line or form, not on the file.
#[test]
fn a_history_of_dbcop_in_json_may_be_longer_than_a_form() {
    let transaction = "{\"events\":[{\"write\":true,\"variable\":1,\"value\":7,\
                       \"success\":true}],\"success\":true}";
    let count = FORM_BYTES_MAX / transaction.len() + 1;
    let text = format!("{{\"data\":[[{}]]}}", vec![transaction; count].join(","));
    let format = by_name("dbcop-json").expect("a format");
    let history = (format.read)(&mut text.as_bytes()).expect("well-formed");
    assert_eq!(history.len() - 1, count);
}

#[test]
fn no_torn_or_altered_file_makes_a_reader_panic() {
    let rounds = std::env::var("RASHOMON_READER_ROUNDS").ok();
    let rounds: usize = rounds.and_then(|text| text.parse().ok()).unwrap_or(3_000);
    let mut numbers = Numbers::new(5);
    let mut refused = 0;
    for (format, bytes) in samples() {
        for _ in 0..rounds {
            let mut altered = bytes.clone();
            for _ in 0..1 + numbers.below(4) {
                let at = numbers.below(altered.len());
                match numbers.below(6) {
                    0 => altered.truncate(at + 1),
                    1 => altered[at] = numbers.below(256) as u8,
                    2 => altered[at] = b"()[]{}:\",-0123456789nrw \n"[numbers.below(25)],
                    3 => drop(altered.remove(at)),
                    4 => altered.insert(at, b"9\"[{(-"[numbers.below(6)]),
                    _ => {
                        let part = altered[at..altered.len().min(at + 9)].to_vec();
                        altered.splice(at..at, part);
                    }
                }
                if altered.is_empty() {
                    break;
                }
            }
            refused += usize::from((format.read)(&mut &altered[..]).is_err());
        }
    }
    assert!(refused > rounds, "{refused}");
}

/// Headers that promise more than the file holds must not make a reader ask for the memory.
#[test]
fn a_binary_file_that_promises_too_much_ends_too_early() {
    let dbcop = by_name("dbcop").expect("a format");
    let mut bytes = vec![0u8; 64];
    bytes.extend_from_slice(&u64::MAX.to_le_bytes());
    bytes.extend_from_slice(&u64::MAX.to_le_bytes());
    let error = (dbcop.read)(&mut &bytes[..]).expect_err("nothing is there");
    assert!(
        error.to_string().contains("the file ends too early"),
        "{error}"
    );
}
