//! What is no history: an error with its place, and no more memory than a line or a form takes.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read};

use super::*;

fn refused(name: &str, bytes: &[u8]) -> String {
    let format = by_name(name).expect("a format");
    let read = (format.read)(&mut &bytes[..]);
    match read {
        Ok(_) => panic!("{name} takes {:?}", String::from_utf8_lossy(bytes)),
        Err(error) => error.to_string(),
    }
}

/// A format, a file, the beginning of its error.
type Case = (&'static str, &'static str, &'static str);

fn check(cases: &[Case]) {
    for (name, text, message) in cases {
        let error = refused(name, text.as_bytes());
        assert!(error.starts_with(message), "{name}: {text:?}: {error}");
    }
}

#[test]
fn a_truncated_file_says_where_it_ends() {
    check(&[
        (
            "rashomon",
            "#! rashomon history 1\ncommitted 1 r(x,0) w(x",
            "line 2, column 23: the last line has no line feed",
        ),
        (
            "rashomon",
            "#! rashomon history 1\ncommitted 1 r(x,0) w(x,1)",
            "line 2, column 26: the last line has no line feed",
        ),
        (
            "text",
            "r(1,0,1,1)\nw(1,2,1",
            "line 2, column 8: expected ','",
        ),
        ("sections", "r 1 0\nw 1", "line 2, column 4: expected ' '"),
        (
            "elle",
            "{:type :ok, :value [[:r 1 nil]]}\n{:type :ok, :value [[:r 1",
            "line 2, column 26: the file ends within a form",
        ),
        (
            "timekiller",
            "[{\"sid\":1,\"tid\":1,\"sts\":{\"p\":1},\"cts\":{\"p\":2},\"ops\":[]},\n{\"sid\"",
            "line 2, column 7: the file ends within a form",
        ),
        (
            "dbcop-json",
            "{\"data\": [[{\"events\": [",
            "line 1, column 24: the file ends within a form",
        ),
        (
            "jepsen-log",
            "INFO jepsen.util - 0\t:invoke\t:cas\t[2",
            "line 1, column 1: a value that is no EDN",
        ),
        ("cobra", "S\0\0\0", "byte 2: the file ends too early"),
        (
            "dbcop",
            "\0\0\0\0\0\0\0\0\0",
            "byte 9: the file ends too early",
        ),
    ]);
}

#[test]
fn what_a_transaction_does_is_an_append_a_read_or_a_write() {
    check(&[
        (
            "elle",
            "{:type :ok, :value [[:w 1 2] [:cas 1 [2 3]]]}",
            "line 1, column 1: expected append, r or w in a transaction",
        ),
        (
            "elle",
            "{:type :ok, :value [[:w 1 2] [:inc 1 2]]}",
            "line 1, column 1: expected append, r or w in a transaction",
        ),
        (
            "elle",
            "{:type :ok, :value [[:w 1 [2]]]}",
            "line 1, column 1: expected a key or a value, found a list",
        ),
    ]);
}

#[test]
fn a_wrong_field_says_where_it_stands() {
    check(&[
        (
            "rashomon",
            "#! rashomon history 1\ncommitted 1 ~9..3 r(x,0)\n",
            "line 2, column 18: a transaction that ends before it begins",
        ),
        (
            "text",
            "r(1,x,1,1)",
            "line 1, column 5: expected an integer",
        ),
        (
            "text",
            "u(1,0,1,1)",
            "line 1, column 1: expected 'r' or 'w'",
        ),
        (
            "sections",
            "r 1 0\n--",
            "line 2, column 1: expected 'r' or 'w'",
        ),
        (
            "elle",
            "{:type :ok, :value [[:r 1 nil]]}\n{:type :okay, :value []}",
            "line 2, column 1: the :type is none of invoke, ok, fail, info",
        ),
        (
            "elle",
            "{:type :ok, :f :transfer, :value {:from 1}}",
            "line 1, column 1: the operation \"transfer\"",
        ),
        (
            "timekiller",
            "[{\"sid\":1,\"tid\":1,\"sts\":{\"p\":1},\"cts\":{\"p\":2},\"ops\":[{\"t\":\"q\",\"k\":1}]}]",
            "line 1, column 1: an operation whose t is none of r, w, a",
        ),
        (
            "dbcop-json",
            "{\"data\": [[{\"events\": [], \"success\": 1}]]}",
            "line 1, column 12: a transaction without success",
        ),
        (
            "elle",
            "{\"type\":\"ok\",\n\"value\":[[\"r\",\"k\\ud83d\",2]]}",
            "line 2, column 17: \\ud83d is half of a surrogate pair",
        ),
        (
            "elle",
            "{:type :ok, :process [1], :value [[:r 1 2]]}",
            "line 1, column 1: a :process that names no session: expected a key or a value, found a list",
        ),
        (
            "dbcop-json",
            "{\"data\": [[{\"events\": [{\"write\":true,\"variable\":18446744073709551616,\
             \"value\":1,\"success\":true}], \"success\": true}]]}",
            "line 1, column 12: variable is 18446744073709551616, which is no integer up to",
        ),
        (
            "jepsen-log",
            "INFO jepsen.util - 0\t:invoke\t:append\t7",
            "line 1, column 1: the operation \"append\"",
        ),
        (
            "cobra",
            "X\0\0\0\0\0\0\0\x01",
            "byte 10: 'X' has no place here",
        ),
    ]);
}

#[test]
fn an_operation_that_is_none_says_what_was_expected() {
    check(&[
        (
            "jepsen-log",
            "INFO jepsen.util - 0 :invoke :read nil\nINFO jepsen.util - 0 ok read 3\n",
            "line 2, column 1: expected INFO jepsen.util - PROCESS :TYPE",
        ),
        (
            "jepsen-log",
            "INFO jepsen.core - Setting up\ncommitted 1 r(x,0)\n",
            "line 2, column 1: the file ends without a line of the form INFO jepsen.util",
        ),
        (
            "elle",
            "{:type :ok, :value [[:r {:a 1} 2]]}",
            "line 1, column 1: expected a key or a value, found a map",
        ),
        (
            "elle",
            "{:type :invoke, :value [[:r 1 nil]]}\n{:type :invoke, :value [[:r 1 nil]]}",
            "line 2, column 1: a second :invoke without a :process",
        ),
    ]);
}

#[test]
fn a_name_that_stands_twice_says_where() {
    check(&[
        (
            "text",
            "w(1,1,1,1)\nw(1,2,1,2)\nw(1,3,1,1)\n",
            "line 3, column 1: this transaction was over",
        ),
        (
            "timekiller",
            "[{\"sid\":1,\"tid\":7,\"sts\":{\"p\":1},\"cts\":{\"p\":2},\"ops\":[]},\n\
             {\"sid\":2,\"tid\":7,\"sts\":{\"p\":3},\"cts\":{\"p\":4},\"ops\":[]}]",
            "line 2, column 1: a tid that another transaction has",
        ),
        (
            "dbcop-json",
            "{\"data\": [],\n \"data\": []}",
            "line 2, column 2: the field \"data\" stands twice in this map",
        ),
        (
            "timekiller",
            "[{\"sid\":1,\"tid\":7,\n \"sid\":2,\"sts\":{\"p\":1},\"cts\":{\"p\":2},\"ops\":[]}]",
            "line 2, column 2: the field \"sid\" stands twice in this map",
        ),
        (
            "elle",
            "{\"type\":\"ok\",\"value\":[[\"r\",1,2]],\n\"value\":[[\"r\",1,3]]}",
            "line 2, column 1: the field \"value\" stands twice in this map",
        ),
        (
            "elle",
            "{:type :invoke, :process 1, :value []}\n{:type :invoke, :process 1, :value []}",
            "line 2, column 1: this process has not completed its last operation",
        ),
        (
            "cobra",
            "S\0\0\0\0\0\0\0\x01C\0\0\0\0\0\0\0\x01S\0\0\0\0\0\0\0\x01",
            "byte 28: a transaction that was there before",
        ),
    ]);
}

#[test]
fn sessions_that_go_round_in_a_circle_say_where() {
    check(&[
        // The second transaction of the session was over before the first began.
        (
            "rashomon",
            "#! rashomon history 1\ncommitted 1 ~50..60 w(x,1)\ncommitted 1 ~10..20 w(x,2)\n",
            "line 3, column 1: it ended before an earlier transaction of its session began",
        ),
        (
            "text",
            "w(1,1,1,1)\nw(1,2,1,2)\nr(1,1,1,1)\nr(1,2,1,2)\n",
            "line 3, column 1: this transaction was over",
        ),
    ]);
    let later = "#! rashomon history 1\ncommitted 1 ~50..60 w(x,1)\ncommitted 2 ~10..20 w(x,2)\n";
    let own = by_name("rashomon").expect("a format");
    assert!(
        (own.read)(&mut later.as_bytes()).is_ok(),
        "another session may have been earlier"
    );
}

/// Counts the bytes that were asked for.
struct Counted<'c, R> {
    stream: R,
    bytes: &'c Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.bytes.set(self.bytes.get() + count as u64);
        Ok(count)
    }
}

/// The same few bytes over and over, ten billion of them.
struct Repeated {
    pattern: &'static [u8],
    at: u64,
}

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = 10_000_000_000 - self.at;
        let count = buffer.len().min(left as usize);
        for byte in &mut buffer[..count] {
            *byte = self.pattern[(self.at % self.pattern.len() as u64) as usize];
            self.at += 1;
        }
        Ok(count)
    }
}

/// What a reader keeps is in proportion to what it has read, so that giving up after little is
/// enough to see.
#[test]
fn ten_gigabytes_of_one_line_are_given_up_after_a_few_megabytes() {
    let cases: &[(&str, &'static str, &'static [u8])] = &[
        ("rashomon", "#! rashomon history 1\n", b"x"),
        ("rashomon", "#! rashomon history 1\n", b"\0"),
        (
            "rashomon",
            "#! rashomon history 1\ncommitted 1 ",
            b"r(1,1) ",
        ),
        ("rashomon", "#! rashomon history 1\n# ", b"a comment "),
        ("text", "r(1,0,1,1)\n", b"1"),
        ("text", "r(1,0,1,1)\n", b" "),
        ("sections", "r 1 0\n", b"r 1 0 "),
        (
            "jepsen-log",
            "INFO jepsen.util - 0\t:invoke\t:cas\t",
            b"[2 3] ",
        ),
        ("elle", "{:type :ok, :value ", b"[:r 1 1] "),
        ("elle", "{:type :ok, :value [", b"[]"),
        ("elle", "{:type :ok, :value [", b"[1]"),
        ("elle", "{:type :ok, :value \"", b"x"),
        ("elle", "{:type :ok, :value ", b" "),
        ("elle", "", b"; a comment "),
        ("elle", "{:type :ok, :value ", b"#a "),
        ("timekiller", "[{\"ops\": [", b"{}"),
        ("timekiller", "[{\"ops\": [", b"1,"),
        ("dbcop-json", "{\"data\": [[{\"events\": [", b"{},"),
        ("dbcop-json", "{\"info\": \"", b"x"),
    ];
    for (name, begin, pattern) in cases {
        let bytes = Cell::new(0);
        let stream = begin.as_bytes().chain(Repeated { pattern, at: 0 });
        let stream = Counted {
            stream,
            bytes: &bytes,
        };
        let format = by_name(name).expect("a format");
        let mut stream = BufReader::with_capacity(1 << 16, stream);
        let shown = String::from_utf8_lossy(pattern);
        assert!(stream.fill_buf().is_ok());
        let error = match (format.read)(&mut stream) {
            Ok(_) => panic!("{name} of {shown:?} is a history"),
            Err(error) => error.to_string(),
        };
        assert!(error.starts_with("line "), "{name} of {shown:?}: {error}");
        let most = 2 * FORM_BYTES_MAX as u64;
        assert!(bytes.get() <= most, "{name} of {shown:?}: {}", bytes.get());
    }
}
