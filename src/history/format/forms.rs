//! EDN and JSON, one form after the other from a stream, none larger than a bound.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::FORM_BYTES_MAX;
use super::form::Tape;
use super::parser::{Parser, Stop, closing, named_twice};
use crate::history::HistoryError;

/// How much is taken from the stream at a time, in bytes.
const PIECE_BYTES: usize = 1 << 18;

/// Reads the forms of a stream; a list around them all is looked through.
///
/// The parser works on bytes that lie in memory, the window. Where a form goes beyond the window,
/// more is taken from the stream, and the form is read once more from its beginning.
pub(super) struct Forms<'s> {
    stream: &'s mut dyn BufRead,
    window: Vec<u8>,
    /// Where in the stream the window begins, in bytes.
    origin: u64,
    /// Whether the stream ends with the window.
    is_last: bool,
    /// Where in the window reading stands.
    at: usize,
    line: u64,
    /// Where in the stream this line begins, in bytes.
    line_begin: u64,
    /// From where in the stream on the bytes of the next form are counted.
    counted_from: u64,
    /// The byte that closes the list around all forms, once it was opened.
    around: Option<u8>,
}

impl<'s> Forms<'s> {
    pub(super) fn new(stream: &'s mut dyn BufRead) -> Self {
        Self {
            stream,
            window: Vec::new(),
            origin: 0,
            is_last: false,
            at: 0,
            line: 1,
            line_begin: 0,
            counted_from: 0,
            around: None,
        }
    }

    /// Puts the next form into the tape; its line, or nothing at the end.
    ///
    /// # Errors
    /// When the stream fails or is neither EDN nor JSON here, or the form is too large.
    pub(super) fn next(&mut self, tape: &mut Tape) -> Result<Option<u64>, HistoryError> {
        loop {
            let Some(byte) = self.begin()? else {
                return match self.around {
                    None => Ok(None),
                    Some(_) => Err(self.error("the file ends within a list")),
                };
            };
            if Some(byte) == self.around {
                self.at += 1;
                return match self.peek_behind_blanks()? {
                    None => Ok(None),
                    Some(_) => Err(self.error("more after the list of all forms")),
                };
            }
            if (byte == b'[' || byte == b'(') && self.around.is_none() {
                self.at += 1;
                self.around = Some(closing(byte));
                continue;
            }
            let line = self.line;
            self.form(tape)?;
            return Ok(Some(line));
        }
    }

    /// Goes into the list or map that comes next, so that what lies in it can be read piece by
    /// piece and no bound holds for the whole.
    ///
    /// # Errors
    /// When something else comes next.
    pub(super) fn open(&mut self, byte: u8) -> Result<(), HistoryError> {
        if self.begin()? != Some(byte) {
            return Err(self.error(format!("expected '{}'", char::from(byte))));
        }
        self.at += 1;
        Ok(())
    }

    /// Whether what was gone into is over, in which case reading stands behind it.
    ///
    /// # Errors
    /// When the stream ends instead.
    pub(super) fn is_closed(&mut self, byte: u8) -> Result<bool, HistoryError> {
        match self.begin()? {
            None => Err(self.error("the file ends within a form")),
            Some(next) if next == byte => {
                self.at += 1;
                Ok(true)
            }
            Some(_) => Ok(false),
        }
    }

    /// Puts the key that comes next in a map that was gone into into the tape; `known` holds the
    /// names of those before it.
    ///
    /// # Errors
    /// When something else comes next, or the map has named this field before.
    pub(super) fn key(
        &mut self,
        known: &mut BTreeSet<String>,
        tape: &mut Tape,
    ) -> Result<(), HistoryError> {
        let is_quoted = self.window.get(self.at) == Some(&b'"');
        let (line, column) = (self.line, self.column());
        self.form(tape)?;
        if let Some(name) = tape.form().name()
            && !known.insert(name.to_owned())
        {
            return Err(HistoryError::at(line, column, named_twice(name)));
        }
        self.skip(|parser, at| Ok((parser.skip_colon(at, is_quoted)?.0, ())))
    }

    /// Puts the form that comes next into the tape; the line and column where it begins.
    ///
    /// # Errors
    /// As [`Forms::next`].
    pub(super) fn item(&mut self, tape: &mut Tape) -> Result<(u64, usize), HistoryError> {
        self.begin()?;
        let (line, column) = (self.line, self.column());
        self.form(tape)?;
        Ok((line, column))
    }

    /// That nothing comes any more.
    ///
    /// # Errors
    /// When something comes.
    pub(super) fn end(&mut self) -> Result<(), HistoryError> {
        match self.begin()? {
            None => Ok(()),
            Some(_) => Err(self.error("more than one history")),
        }
    }

    /// An error where reading stands.
    pub(super) fn error(&self, message: impl Into<String>) -> HistoryError {
        HistoryError::at(self.line, self.column(), message)
    }

    fn column(&self) -> usize {
        (self.origin + self.at as u64 - self.line_begin) as usize + 1
    }

    /// Counts anew, and goes to where something comes; its first byte.
    fn begin(&mut self) -> Result<Option<u8>, HistoryError> {
        self.counted_from = self.origin + self.at as u64;
        self.peek_behind_blanks()
    }

    /// Goes to where something comes; its first byte.
    #[inline]
    fn peek_behind_blanks(&mut self) -> Result<Option<u8>, HistoryError> {
        self.skip(|parser, at| {
            let next = parser.skip_blanks(at)?;
            Ok((next, parser.peek(next)?))
        })
    }

    fn form(&mut self, tape: &mut Tape) -> Result<(), HistoryError> {
        self.step(tape, |parser, _| Ok((parser.whole_form()?, ())))
    }

    /// Reads something that is no form.
    #[inline]
    fn skip<T>(
        &mut self,
        run: impl Fn(&mut Parser<'_, '_>, usize) -> Result<(usize, T), Stop>,
    ) -> Result<T, HistoryError> {
        // Nothing is put into it, so that it asks for no memory.
        self.step(&mut Tape::default(), run)
    }

    /// Has a parser read on from where reading stands, with as much of the stream as it needs. The
    /// parser says where it has come to.
    #[inline]
    fn step<T>(
        &mut self,
        tape: &mut Tape,
        run: impl Fn(&mut Parser<'_, '_>, usize) -> Result<(usize, T), Stop>,
    ) -> Result<T, HistoryError> {
        loop {
            tape.clear();
            let room = self.counted_from + FORM_BYTES_MAX as u64 + 1;
            let limit = room.saturating_sub(self.origin) as usize;
            let mut parser = Parser::new(&self.window, (self.at, limit), self.is_last, tape);
            match run(&mut parser, self.at) {
                Ok((end, found)) => {
                    self.go_to(end);
                    return Ok(found);
                }
                Err(Stop::More) => self.fill()?,
                Err(refused) => return Err(self.refusal(refused)),
            }
        }
    }

    /// What is wrong at a place of the window that reading has come to, or will.
    fn refusal(&mut self, stop: Stop) -> HistoryError {
        match stop {
            Stop::IllFormed(refused) => {
                self.go_to(refused.at);
                self.error(refused.message)
            }
            Stop::More => self.error("the file ends within a form"),
        }
    }

    /// Goes on to a place of the window, and counts the lines up to it.
    fn go_to(&mut self, at: usize) {
        let passed = &self.window[self.at..at];
        if let Some(last) = memchr::memrchr(b'\n', passed) {
            self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
            self.line_begin = self.origin + (self.at + last) as u64 + 1;
        }
        self.at = at;
    }

    /// Drops what was read, and takes more from the stream: as much as is left at least, so that
    /// reading a long form again costs no more than reading it twice.
    fn fill(&mut self) -> Result<(), HistoryError> {
        self.window.drain(..self.at);
        self.origin += self.at as u64;
        self.at = 0;
        let left = self.window.len();
        let enough = (left * 2).min(FORM_BYTES_MAX + PIECE_BYTES).max(left + 1);
        while self.window.len() < enough {
            let bytes = self.stream.fill_buf()?;
            if bytes.is_empty() {
                self.is_last = true;
                break;
            }
            let taken = bytes.len().min(PIECE_BYTES);
            self.window.extend_from_slice(&bytes[..taken]);
            self.stream.consume(taken);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::format::form::{Form, Items};

    fn all(text: &str) -> Result<Vec<Tape>, String> {
        let mut stream = text.as_bytes();
        let mut forms = Forms::new(&mut stream);
        let mut found = Vec::new();
        loop {
            let mut tape = Tape::default();
            match forms.next(&mut tape).map_err(|error| error.to_string())? {
                Some(_) => found.push(tape),
                None => return Ok(found),
            }
        }
    }

    /// The forms as a checker of tests shows them.
    fn shown(text: &str) -> Result<Vec<String>, String> {
        let show = |tape: &Tape| format!("{:?}", tape.form());
        all(text).map(|tapes| tapes.iter().map(show).collect())
    }

    #[test]
    fn edn_and_json_of_one_operation_have_the_same_fields() {
        let edn = all("; a comment\n{:type :ok, :value [[1 nil]], :process 3 :a #{1N}}");
        let json = all("[{\"type\":\"ok\",\"value\":[[1,null]],\"process\" : 3, \"a\":[1]}]");
        let mixed = all("{\"type\" :ok \"value\" [[1 nil]] \"process\" 3 \"a\" (1)}");
        for (forms, is_keyword) in [(&edn, true), (&json, false), (&mixed, true)] {
            let forms = forms.as_ref().expect("forms");
            assert_eq!(forms.len(), 1);
            let form = forms[0].form();
            let kind = form.get("type").expect("a type");
            assert_eq!(kind.name(), Some("ok"));
            assert_eq!(matches!(kind, Form::Keyword(_)), is_keyword, "{kind:?}");
            let value = format!("{:?}", form.get("value").expect("a value"));
            assert_eq!(value, "List([List([Integer(1), Nil])])");
            assert_eq!(form.get("process"), Some(Form::Integer(3)));
            let a = form.get("a").and_then(Form::list).and_then(Items::exactly);
            assert_eq!(a, Some([Form::Integer(1)]));
        }
    }

    #[test]
    fn a_surrogate_pair_is_one_character() {
        let escaped = r#""\ud83d\ude00 \uD83D\uDE01 \u00e9 \ud7ff \ue000""#;
        let text = "\u{1f600} \u{1f601} \u{e9} \u{d7ff} \u{e000}".to_owned();
        assert_eq!(shown(escaped), Ok(vec![format!("{:?}", Form::Text(&text))]));
    }

    #[test]
    fn half_of_a_surrogate_pair_is_refused_with_its_place_and_the_remedy() {
        let halves = [
            (r#""ab\ud83d""#, "ud83d"),
            (r#""ab\ud83dx""#, "ud83d"),
            (r#""ab\ud83d\n""#, "ud83d"),
            (r#""ab\ud83d\u0041""#, "ud83d"),
            (r#""ab\ud83d\ud83d""#, "ud83d"),
            (r#""ab\ude00""#, "ude00"),
            (r#""ab\ude00\ud83d""#, "ude00"),
        ];
        for (text, half) in halves {
            let error = shown(text).expect_err(text);
            let place = format!("line 1, column 4: \\{half} is half of a surrogate pair");
            assert!(error.starts_with(&place), "{text}: {error}");
            assert!(error.contains("write both halves"), "{text}: {error}");
        }
        let torn = shown(r#""\ud83d\u12""#).expect_err("no hex digit");
        assert_eq!(torn, "line 1, column 12: expected four hex digits");
    }

    #[test]
    fn a_field_that_stands_twice_is_refused_wherever_it_stands() {
        let last = (0..40).map(|at| format!("\"f{at}\":{at},"));
        let many = format!("{{{}\n\"f3\":0}}", last.collect::<String>());
        let twice = [
            ("{\"a\":1,\n \"a\":1}", "line 2, column 2: the field \"a\""),
            ("{:a 1 \"a\" 2}", "line 1, column 7: the field \"a\""),
            ("{:b {:a 1 :a 2}}", "line 1, column 11: the field \"a\""),
            (&many, "line 2, column 1: the field \"f3\""),
        ];
        for (text, message) in twice {
            let error = shown(text).expect_err(text);
            assert!(error.starts_with(message), "{text}: {error}");
            assert!(error.ends_with("take one of them out"), "{error}");
        }
        let once = all(&many.replace("\n\"f3\"", "\"f40\"")).expect("no field twice");
        assert_eq!(once[0].form().get("f40"), Some(Form::Integer(0)));
    }

    #[test]
    fn what_is_torn_is_an_error_with_its_place() {
        let torn = [
            ("[{:a 1}", "line 1, column 8: the file ends within a list"),
            (
                "{:a\n \"b",
                "line 2, column 4: the file ends within a string",
            ),
            ("{:a )}", "line 1, column 5: expected a form"),
            (
                "[1] 2",
                "line 1, column 5: more after the list of all forms",
            ),
            ("\"\\q\"", "line 1, column 4: an unknown escape in a string"),
        ];
        for (text, message) in torn {
            assert_eq!(shown(text), Err(message.to_owned()), "{text}");
        }
        let deep = "{:a ".repeat(100);
        assert!(shown(&deep).is_err_and(|error| error.contains("deeper than 32")));
    }
}
