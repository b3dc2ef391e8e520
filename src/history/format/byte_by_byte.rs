//! The parser against a second reader of the same language, which goes byte by byte and keeps
//! every form as a tree: plain enough to be right, and slow.

use std::io::BufRead;

use super::FORM_BYTES_MAX;
use super::form::{Form, Tape, is_word_byte};
use super::forms::Forms;
use super::tests::Numbers;
use crate::history::HistoryError;

const FORMS_MAX: usize = 1 << 22;

const DEPTH_MAX: u32 = 32;

/// A form as a tree. It shows itself as a [`Form`] does.
#[derive(Debug)]
enum Tree {
    Nil,
    Bool(#[expect(dead_code, reason = "it is shown")] bool),
    Integer(#[expect(dead_code, reason = "it is shown")] i64),
    Text(String),
    Keyword(String),
    Symbol(String),
    List(#[expect(dead_code, reason = "it is shown")] Vec<Tree>),
    Map(#[expect(dead_code, reason = "it is shown")] Vec<(Tree, Tree)>),
    Number(#[expect(dead_code, reason = "it is shown")] String),
}

impl Tree {
    fn word(word: String) -> Self {
        match Form::word(&word) {
            Form::Nil => Self::Nil,
            Form::Bool(is_true) => Self::Bool(is_true),
            Form::Integer(value) => Self::Integer(value),
            Form::Number(_) => Self::Number(word),
            Form::Text(_) | Form::Keyword(_) | Form::Symbol(_) | Form::List(_) | Form::Map(_) => {
                Self::Symbol(word)
            }
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Keyword(text) | Self::Symbol(text) => Some(text),
            Self::Nil
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::List(_)
            | Self::Map(_)
            | Self::Number(_) => None,
        }
    }
}

/// Reads the forms of a stream, a byte at a time.
struct ByteByByte<'s> {
    stream: &'s mut dyn BufRead,
    line: u64,
    column: usize,
    taken: usize,
    forms: usize,
    around: Option<u8>,
}

impl<'s> ByteByByte<'s> {
    fn new(stream: &'s mut dyn BufRead) -> Self {
        Self {
            stream,
            line: 1,
            column: 1,
            taken: 0,
            forms: 0,
            around: None,
        }
    }

    fn next(&mut self) -> Result<Option<(u64, Tree)>, HistoryError> {
        loop {
            self.begin()?;
            let Some(byte) = self.peek()? else {
                return match self.around {
                    None => Ok(None),
                    Some(_) => Err(self.error("the file ends within a list")),
                };
            };
            if Some(byte) == self.around {
                self.advance();
                self.skip_blanks()?;
                return match self.peek()? {
                    None => Ok(None),
                    Some(_) => Err(self.error("more after the list of all forms")),
                };
            }
            if (byte == b'[' || byte == b'(') && self.around.is_none() {
                self.advance();
                self.around = Some(closing(byte));
                continue;
            }
            let line = self.line;
            return Ok(Some((line, self.form(0)?)));
        }
    }

    fn begin(&mut self) -> Result<(), HistoryError> {
        (self.taken, self.forms) = (0, 0);
        self.skip_blanks()
    }

    fn error(&self, message: impl Into<String>) -> HistoryError {
        HistoryError::at(self.line, self.column, message)
    }

    fn peek(&mut self) -> Result<Option<u8>, HistoryError> {
        Ok(self.stream.fill_buf()?.first().copied())
    }

    /// Goes past the byte that was peeked at.
    fn advance(&mut self) {
        if let Ok(&[byte, ..]) = self.stream.fill_buf() {
            if byte == b'\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
            self.taken += 1;
            self.stream.consume(1);
        }
    }

    /// Skips white space, commas and comments.
    fn skip_blanks(&mut self) -> Result<(), HistoryError> {
        let mut is_comment = false;
        while let Some(byte) = self.peek()? {
            is_comment = byte != b'\n' && (is_comment || byte == b';');
            if !is_comment && !b" \t\r\n,".contains(&byte) {
                break;
            }
            self.bound()?;
            self.advance();
        }
        Ok(())
    }

    fn form(&mut self, depth: u32) -> Result<Tree, HistoryError> {
        if depth > DEPTH_MAX {
            return Err(self.error(format!("forms nested deeper than {DEPTH_MAX}")));
        }
        self.forms += 1;
        if self.forms > FORMS_MAX {
            return Err(self.error(format!("more than {FORMS_MAX} forms in one")));
        }
        self.skip_blanks()?;
        match self.peek()? {
            None => Err(self.error("the file ends within a form")),
            Some(open @ (b'[' | b'(')) => {
                self.advance();
                self.items(closing(open), depth).map(Tree::List)
            }
            Some(b'{') => {
                self.advance();
                self.entries(depth).map(Tree::Map)
            }
            Some(b'"') => {
                self.advance();
                self.string().map(Tree::Text)
            }
            Some(b'#') => {
                self.advance();
                self.tagged(depth)
            }
            Some(b':') => {
                self.advance();
                self.word().map(Tree::Keyword)
            }
            Some(_) => self.word().map(Tree::word),
        }
    }

    /// What follows a `#`: a set, or a form with a tag that says nothing to us.
    fn tagged(&mut self, depth: u32) -> Result<Tree, HistoryError> {
        if self.peek()? == Some(b'{') {
            self.advance();
            return self.items(b'}', depth).map(Tree::List);
        }
        self.word()?;
        self.form(depth + 1)
    }

    fn items(&mut self, close: u8, depth: u32) -> Result<Vec<Tree>, HistoryError> {
        let mut items = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.peek()? == Some(close) {
                self.advance();
                return Ok(items);
            }
            items.push(self.form(depth + 1)?);
        }
    }

    fn entries(&mut self, depth: u32) -> Result<Vec<(Tree, Tree)>, HistoryError> {
        let mut entries: Vec<(Tree, Tree)> = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.peek()? == Some(b'}') {
                self.advance();
                return Ok(entries);
            }
            let is_quoted = self.peek()? == Some(b'"');
            let place = (self.line, self.column);
            let key = self.form(depth + 1)?;
            if let Some(name) = key.name()
                && entries.iter().any(|(key, _)| key.name() == Some(name))
            {
                let message = super::parser::named_twice(name);
                return Err(HistoryError::at(place.0, place.1, message));
            }
            let is_after_colon = self.skip_colon(is_quoted)?;
            let mut value = self.form(depth + 1)?;
            // JSON has no bare words: the colon was that of a keyword of EDN.
            if is_after_colon && let Tree::Symbol(name) = &mut value {
                value = Tree::Keyword(std::mem::take(name));
            }
            entries.push((key, value));
        }
    }

    /// Reads the colon of JSON behind a key in quotes; whether there was one.
    fn skip_colon(&mut self, is_quoted: bool) -> Result<bool, HistoryError> {
        self.skip_blanks()?;
        let is_there = is_quoted && self.peek()? == Some(b':');
        if is_there {
            self.advance();
        }
        Ok(is_there)
    }

    fn string(&mut self) -> Result<String, HistoryError> {
        let mut bytes = Vec::new();
        loop {
            let Some(byte) = self.peek()? else {
                return Err(self.error("the file ends within a string"));
            };
            self.bound()?;
            self.advance();
            match byte {
                b'"' => break,
                b'\\' => {
                    let c = self.escape()?;
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                byte => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).map_err(|_| self.error("a string that is not UTF-8"))
    }

    /// What an escape stands for, whose backslash was read.
    fn escape(&mut self) -> Result<char, HistoryError> {
        let place = (self.line, self.column - 1);
        let escaped = self.peek()?;
        self.advance();
        match escaped {
            Some(b'n') => Ok('\n'),
            Some(b't') => Ok('\t'),
            Some(b'r') => Ok('\r'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(c @ (b'"' | b'\\' | b'/')) => Ok(char::from(c)),
            Some(b'u') => self.code_point(place),
            _ => Err(self.error("an unknown escape in a string")),
        }
    }

    /// The character of `XXXX`, or of the pair of surrogates `XXXX\uXXXX`, behind a `\u` at a
    /// place.
    fn code_point(&mut self, (line, column): (u64, usize)) -> Result<char, HistoryError> {
        let first = self.hex()?;
        let mut units = vec![first];
        // Only the first half of a pair asks for another unit: RFC 8259, section 7.
        if (0xd800..0xdc00).contains(&first) && self.peek()? == Some(b'\\') {
            self.advance();
            if self.peek()? == Some(b'u') {
                self.advance();
                units.push(self.hex()?);
            }
        }
        match char::decode_utf16(units).next() {
            Some(Ok(c)) => Ok(c),
            _ => {
                let message = format!(
                    "\\u{first:04x} is half of a surrogate pair and names no character: write both \
                     halves, as in \\ud83d\\ude00, or the character itself"
                );
                Err(HistoryError::at(line, column, message))
            }
        }
    }

    /// Four hexadecimal digits.
    fn hex(&mut self) -> Result<u16, HistoryError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek()?.and_then(|byte| char::from(byte).to_digit(16));
            let digit = digit.ok_or_else(|| self.error("expected four hex digits"))?;
            // A digit is below 16.
            code = code << 4 | digit as u16;
            self.advance();
        }
        Ok(code)
    }

    fn word(&mut self) -> Result<String, HistoryError> {
        let mut bytes = Vec::new();
        while let Some(byte) = self.peek()? {
            if !is_word_byte(byte) {
                break;
            }
            self.bound()?;
            bytes.push(byte);
            self.advance();
        }
        if bytes.is_empty() {
            return Err(self.error("expected a form"));
        }
        String::from_utf8(bytes).map_err(|_| self.error("a word that is not UTF-8"))
    }

    fn bound(&self) -> Result<(), HistoryError> {
        if self.taken > FORM_BYTES_MAX {
            return Err(self.error(format!("a form of more than {FORM_BYTES_MAX} bytes")));
        }
        Ok(())
    }
}

fn closing(open: u8) -> u8 {
    if open == b'[' { b']' } else { b')' }
}

/// What a reader tells: each form with its line, and what is wrong at the end.
type Told = (Vec<(u64, String)>, Option<String>);

fn slowly(mut bytes: &[u8]) -> Told {
    let mut forms = ByteByByte::new(&mut bytes);
    let mut told = Vec::new();
    loop {
        match forms.next() {
            Ok(Some((line, form))) => told.push((line, format!("{form:?}"))),
            Ok(None) => return (told, None),
            Err(error) => return (told, Some(error.to_string())),
        }
    }
}

/// By the parser, from a stream that gives `piece` bytes at a time.
fn quickly(bytes: &[u8], piece: usize) -> Told {
    let mut stream = std::io::BufReader::with_capacity(piece, bytes);
    let mut forms = Forms::new(&mut stream);
    let (mut tape, mut told) = (Tape::default(), Vec::new());
    loop {
        match forms.next(&mut tape) {
            Ok(Some(line)) => told.push((line, format!("{:?}", tape.form()))),
            Ok(None) => return (told, None),
            Err(error) => return (told, Some(error.to_string())),
        }
    }
}

/// What histories are written in, and what stands in no history.
const SAMPLES: &[&str] = &[
    "{:type :ok, :f :txn, :value [[:append 5 1] [:r 5 [1 2]] [:w :x nil]], :process 0}\n; end\n",
    "{\"index\":1,\"type\":\"ok\",\"value\":[[\"r\",1,null],[\"w\",2,-7]],\"process\":3}\n",
    "[\n{\"sid\":0,\"sts\":{\"p\":\"12\",\"l\":0},\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2}]},\n{}\n]\n",
    "({:a #{1N 2.5} \"b\" #tag (true false nil null) :c \"\\ud83d\\ude00\\u00e9\\n\"})",
    "{:value [[:r 5 nil] [:w -7 12] [:append 123456789 1234567890123456] [:r x 3] [:w 4 5 6] (:r 1 2) \
     [:r 7 12345678901234567890] [:w 0 nilly] [:r 1 2]], :f :txn, :process 12, :type :invoke :index 1}",
    "[{\"value\":[[\"r\",5,null],[\"w\",12,34],[\"append\", 123456789, 17],[\"r\",1,2.5],[\"\",1,2],[\"r\" 1 2],\
     [\"w\",1,nullx],[\"r\",5,[1,2]],[\"r\",1]],\"f\":\"txn\",\"process\":12,\"type\":\"ok\",\"index\":1}]",
    "{\"a\" :b \"c\":ok \"k\\u0061\": 12345678901234567890 \"e\":1.5e3}\t-9223372036854775808",
    "{:f0 0 :f1 1 :f2 2 :f3 3 :f4 4 :f5 5 :f6 6 :f7 7 :f8 8 :f9 9 :g0 0 :g1 1 :g2 2 :g3 3 :g4 4 \
     :g5 5 :g6 6 :g7 7 :g8 8}",
    "\"\u{e9}\u{1f600}\" caf\u{e9} ; \u{e9}\n :k\u{e9}y",
];

/// Bytes that mean something to the parser.
const BYTES: &[u8] = b"()[]{}:\",;#\\-0123456789unr. \n\r\t\xc3\xa9\xff";

fn altered(sample: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    for _ in 0..1 + numbers.below(4) {
        let at = numbers.below(bytes.len());
        match numbers.below(5) {
            0 => bytes.truncate(at + 1),
            1 => bytes[at] = BYTES[numbers.below(BYTES.len())],
            2 => bytes.insert(at, BYTES[numbers.below(BYTES.len())]),
            3 if bytes.len() > 1 => drop(bytes.remove(at)),
            _ => {
                let end = bytes.len().min(at + 1 + numbers.below(40));
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}

#[test]
fn both_readers_tell_the_same_forms_or_refuse_the_same_place() {
    let mut numbers = Numbers::new(7);
    let (mut taken, mut refused) = (0, 0);
    for sample in SAMPLES {
        assert_eq!(slowly(sample.as_bytes()).1, None, "{sample}");
        for round in 0..4_000 {
            let bytes = match round {
                0 => sample.as_bytes().to_vec(),
                _ => altered(sample.as_bytes(), &mut numbers),
            };
            let slow = slowly(&bytes);
            let piece = [1, 2, 7, 30, 1 << 20][numbers.below(5)];
            let shown = String::from_utf8_lossy(&bytes);
            assert_eq!(quickly(&bytes, piece), slow, "{piece} bytes of {shown}");
            *(if slow.1.is_none() {
                &mut taken
            } else {
                &mut refused
            }) += 1;
        }
    }
    assert!(taken > 2_000 && refused > 2_000, "{taken} {refused}");
}

#[test]
fn both_readers_refuse_the_same_byte_of_a_form_that_is_too_long() {
    let long = "x".repeat(FORM_BYTES_MAX + 1);
    for (before, after) in [("{:a \"", "\"}"), ("{:a ", " }"), ("{\"a\":1,\n;", "\n}")] {
        let text = format!("{before}{long}{after}");
        let slow = slowly(text.as_bytes());
        assert!(
            slow.1
                .as_ref()
                .is_some_and(|error| error.contains("a form of more than"))
        );
        assert_eq!(quickly(text.as_bytes(), 1 << 16), slow, "{before}");
    }
}
