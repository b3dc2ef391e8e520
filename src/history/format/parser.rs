//! One form of EDN or JSON out of bytes that lie in memory.
//!
//! Both are read by one parser: they differ in how a map parts its keys from its values and in
//! how names are quoted, and the files of the peers mix their habits.

use std::collections::BTreeSet;

use super::FORM_BYTES_MAX;
use super::form::{Form, FormNode, Tape, TextSpan, is_same, is_word_byte};
use super::swar::{digits, plain_length};

/// How many forms may lie in one: what a form of two bytes takes in memory is eight times that.
const FORMS_MAX: usize = 1 << 22;

/// How deep forms may lie in each other.
const DEPTH_MAX: u32 = 32;

/// How many fields of a map are compared one by one before a set of their names is made.
const COMPARED_MAX: usize = 16;

/// How far a list is looked through that may be a short one, its first bracket left out.
const SHORT_BYTES: usize = 48;

/// Why the parser cannot go on.
#[derive(Debug)]
pub(super) enum Stop {
    /// The bytes end here, and the file does not.
    More,
    IllFormed(Box<IllFormed>),
}

/// What is wrong, and at which place of the bytes.
#[derive(Debug)]
pub(super) struct IllFormed {
    pub(super) at: usize,
    pub(super) message: String,
}

/// Reads bytes that lie in memory. Where reading stands is handed from call to call and back: kept
/// in the parser it would go through memory for every byte.
pub(super) struct Parser<'w, 't> {
    bytes: &'w [u8],
    /// Where the bytes are too many for one form.
    limit: usize,
    /// Whether the file ends with these bytes.
    is_last: bool,
    /// What the texts of the tape are counted from.
    source: usize,
    forms: usize,
    tape: &'t mut Tape,
}

impl<'w, 't> Parser<'w, 't> {
    /// For a form that begins at `source`, and that takes no byte from `limit` on.
    pub(super) fn new(
        bytes: &'w [u8],
        (source, limit): (usize, usize),
        is_last: bool,
        tape: &'t mut Tape,
    ) -> Self {
        Self {
            bytes,
            limit,
            is_last,
            source,
            forms: 0,
            tape,
        }
    }

    /// Puts a form into the tape, which is empty; the place behind it.
    pub(super) fn whole_form(&mut self) -> Result<usize, Stop> {
        let end = self.form(self.source, 0)?;
        self.tape.set_source(&self.bytes[self.source..end]);
        Ok(end)
    }

    /// The byte at a place; none at the end of the file.
    #[inline]
    pub(super) fn peek(&self, at: usize) -> Result<Option<u8>, Stop> {
        match self.bytes.get(at) {
            Some(byte) => Ok(Some(*byte)),
            None if self.is_last => Ok(None),
            None => Err(Stop::More),
        }
    }

    /// Skips white space, commas and comments.
    #[inline]
    pub(super) fn skip_blanks(&self, at: usize) -> Result<usize, Stop> {
        // Most often nothing stands there, or one comma or space.
        for next in [at, at + 1] {
            match self.bytes.get(next) {
                Some(byte) if is_blank(*byte) => {}
                Some(byte) if *byte != b';' && next <= self.limit => return Ok(next),
                _ => break,
            }
        }
        self.skip_some_blanks(at)
    }

    #[inline(never)]
    fn skip_some_blanks(&self, mut at: usize) -> Result<usize, Stop> {
        loop {
            let rest = &self.bytes[at..];
            let is_comment = rest.first() == Some(&b';');
            let end = match is_comment {
                true => rest.iter().position(|byte| *byte == b'\n'),
                false => rest.iter().position(|byte| !is_blank(*byte)),
            };
            let end = at + end.unwrap_or(rest.len());
            self.bound(at, end)?;
            at = end;
            match self.peek(at)? {
                Some(b';') => {}
                Some(b'\n') if is_comment => {}
                _ => return Ok(at),
            }
        }
    }

    /// A form behind blanks.
    fn form(&mut self, at: usize, depth: u32) -> Result<usize, Stop> {
        self.count_form(at, depth)?;
        let at = self.skip_blanks(at)?;
        let first = self.peek(at)?;
        self.form_of(at, first, depth)
    }

    /// A form that begins with this byte.
    #[inline]
    fn form_here(&mut self, at: usize, first: Option<u8>, depth: u32) -> Result<usize, Stop> {
        self.count_form(at, depth)?;
        self.form_of(at, first, depth)
    }

    #[inline]
    fn count_form(&mut self, at: usize, depth: u32) -> Result<(), Stop> {
        if depth > DEPTH_MAX {
            return fail(at, format!("forms nested deeper than {DEPTH_MAX}"));
        }
        self.forms += 1;
        if self.forms > FORMS_MAX {
            return fail(at, format!("more than {FORMS_MAX} forms in one"));
        }
        Ok(())
    }

    #[inline]
    fn form_of(&mut self, at: usize, first: Option<u8>, depth: u32) -> Result<usize, Stop> {
        // What most forms are, without a call.
        match first {
            Some(b'-' | b'0'..=b'9') => self.number(at),
            Some(b'"') => self.string(at + 1),
            _ => self.other_form(at, first, depth),
        }
    }

    /// As [`Parser::form_of`], of a form that is no number and no string.
    fn other_form(&mut self, at: usize, first: Option<u8>, depth: u32) -> Result<usize, Stop> {
        match first {
            None => fail(at, "the file ends within a form"),
            Some(open @ (b'[' | b'(')) => match self.short_list(at + 1, closing(open), depth) {
                Some(end) => Ok(end),
                None => self.items(at + 1, closing(open), depth),
            },
            Some(b'{') => self.entries(at + 1, depth),
            Some(b'#') => self.tagged(at + 1, depth),
            Some(b':') => {
                let end = self.word(at + 1)?;
                let name = self.span(at + 1, end);
                self.tape.push(FormNode::Keyword(name));
                Ok(end)
            }
            Some(_) => self.bare_word(at),
        }
    }

    /// What follows a `#`: a set, or a form with a tag that says nothing to us.
    #[inline(never)]
    fn tagged(&mut self, at: usize, depth: u32) -> Result<usize, Stop> {
        if self.peek(at)? == Some(b'{') {
            return self.items(at + 1, b'}', depth);
        }
        let end = self.word(at)?;
        self.form(end, depth + 1)
    }

    /// A list as there are the most of in histories, such as `["r",5,1]` and `[:w 5 nil]`. Nothing
    /// has happened where it is another, or where the bytes may not reach far enough.
    #[inline]
    fn short_list(&mut self, begin: usize, close: u8, depth: u32) -> Option<usize> {
        let bytes = self.bytes.get(begin..begin + SHORT_BYTES)?;
        if begin + SHORT_BYTES > self.limit || depth >= DEPTH_MAX || self.forms + 3 > FORMS_MAX {
            return None;
        }
        let is_quoted = match bytes[0] {
            b'"' => true,
            b':' => false,
            _ => return None,
        };
        let is_name = |byte: &&u8| byte.is_ascii_alphabetic();
        let length = bytes[1..9].iter().take_while(is_name).count();
        let mut at = 1 + length + usize::from(is_quoted);
        if length == 0 || is_quoted && bytes[at - 1] != b'"' {
            return None;
        }
        let name = self.span(begin + 1, begin + 1 + length);
        let name = match is_quoted {
            true => FormNode::Text(name),
            false => FormNode::Keyword(name),
        };
        let key;
        (key, at) = short_integer(bytes, at)?;
        let value = match bytes.get(at..at + 5)? {
            b",null" | b" null" => {
                at += 5;
                FormNode::Nil
            }
            [b',' | b' ', b'n', b'i', b'l', _] => {
                at += 4;
                FormNode::Nil
            }
            _ => {
                let value;
                (value, at) = short_integer(bytes, at)?;
                FormNode::Integer(value)
            }
        };
        if *bytes.get(at)? != close {
            return None;
        }
        self.forms += 3;
        self.tape
            .push_short_list([name, FormNode::Integer(key), value]);
        Some(begin + at + 1)
    }

    fn items(&mut self, mut at: usize, close: u8, depth: u32) -> Result<usize, Stop> {
        let list = self.tape.open();
        let mut count = 0;
        loop {
            at = self.skip_blanks(at)?;
            let next = self.peek(at)?;
            if next == Some(close) {
                self.tape.set(list, FormNode::List(self.tape.within(count)));
                return Ok(at + 1);
            }
            at = self.form_here(at, next, depth + 1)?;
            count += 1;
        }
    }

    fn entries(&mut self, mut at: usize, depth: u32) -> Result<usize, Stop> {
        let map = self.tape.open();
        let before = self.tape.names.len();
        let mut names = BTreeSet::new();
        let mut count = 0;
        loop {
            at = self.skip_blanks(at)?;
            let next = self.peek(at)?;
            if next == Some(b'}') {
                self.tape.set(map, FormNode::Map(self.tape.within(count)));
                self.tape.names.truncate(before);
                return Ok(at + 1);
            }
            let (place, key) = (at, self.tape.len());
            at = self.form_here(at, next, depth + 1)?;
            if let FormNode::Text(name) | FormNode::Keyword(name) | FormNode::Symbol(name) =
                self.tape.node(key)
            {
                self.new_field(name, before, &mut names)
                    .or_else(|message| fail(place, message))?;
                self.tape.names.push(name);
            }
            count += 1;
            let value_at = self.skip_colon(at, next == Some(b'"'))?;
            let value = self.tape.len();
            at = self.form(value_at.0, depth + 1)?;
            // JSON has no bare words: the colon was that of a keyword of EDN.
            if value_at.1
                && let FormNode::Symbol(name) = self.tape.node(value)
            {
                self.tape.set(value, FormNode::Keyword(name));
            }
        }
    }

    /// That a key names no field of its map that was named before. Keys that are no names always
    /// pass: no format has fields of such keys.
    ///
    /// # Errors
    /// What is wrong, when it does.
    #[inline]
    fn new_field(
        &self,
        new: TextSpan,
        before: usize,
        names: &mut BTreeSet<Vec<u8>>,
    ) -> Result<(), String> {
        let bytes = |name: TextSpan| self.tape.bytes(name, &self.bytes[self.source..]);
        let known = &self.tape.names[before..];
        let is_new = if known.len() < COMPARED_MAX {
            let is_other = |name: TextSpan| {
                name.end - name.begin != new.end - new.begin || !is_same(bytes(name), bytes(new))
            };
            known.iter().all(|name| is_other(*name))
        } else {
            if names.is_empty() {
                names.extend(known.iter().map(|name| bytes(*name).to_vec()));
            }
            names.insert(bytes(new).to_vec())
        };
        match is_new {
            true => Ok(()),
            false => Err(named_twice(&String::from_utf8_lossy(bytes(new)))),
        }
    }

    /// Reads the colon of JSON behind a key in quotes; the place behind it, and whether there was
    /// one.
    #[inline]
    pub(super) fn skip_colon(&self, at: usize, is_quoted: bool) -> Result<(usize, bool), Stop> {
        let at = self.skip_blanks(at)?;
        let is_there = is_quoted && self.peek(at)? == Some(b':');
        Ok((at + usize::from(is_there), is_there))
    }

    /// The rest of a string whose first quote was read.
    #[inline]
    fn string(&mut self, begin: usize) -> Result<usize, Stop> {
        let length = plain_length(&self.bytes[begin..]);
        let end = begin + length;
        match self.bytes.get(end) {
            Some(b'"') => {
                self.bound(begin, end + 1)?;
                let text = self.span(begin, end);
                self.tape.push(FormNode::Text(text));
                Ok(end + 1)
            }
            _ => self.long_string(begin),
        }
    }

    /// A string with escapes or with characters beyond ASCII, or that is torn.
    #[inline(never)]
    fn long_string(&mut self, begin: usize) -> Result<usize, Stop> {
        let mut at = begin;
        let mut text = Vec::new();
        loop {
            let rest = &self.bytes[at..];
            let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            let end = at + end.unwrap_or(rest.len());
            self.bound(at, self.bytes.len().min(end + 1))?;
            let Some(stop) = self.peek(end)? else {
                return fail(end, "the file ends within a string");
            };
            text.extend_from_slice(&self.bytes[at..end]);
            at = end + 1;
            if stop == b'"' {
                break;
            }
            let c;
            (c, at) = self.escape(at)?;
            text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        if str::from_utf8(&text).is_err() {
            return fail(at, "a string that is not UTF-8");
        }
        let text = self.tape.decode(&text);
        self.tape.push(FormNode::Text(text));
        Ok(at)
    }

    /// What an escape stands for, whose backslash was read.
    fn escape(&self, at: usize) -> Result<(char, usize), Stop> {
        let escaped = self.peek(at)?;
        let end = at + usize::from(escaped.is_some());
        let c = match escaped {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'u') => return self.code_point(end),
            _ => return fail(end, "an unknown escape in a string"),
        };
        Ok((c, end))
    }

    /// The character of `XXXX`, or of the pair of surrogates `XXXX\uXXXX`, behind a `\u`.
    fn code_point(&self, begin: usize) -> Result<(char, usize), Stop> {
        let (first, mut at) = self.hex(begin)?;
        let mut units = vec![first];
        // Only the first half of a pair asks for another unit: RFC 8259, section 7.
        if (0xd800..0xdc00).contains(&first) && self.peek(at)? == Some(b'\\') {
            at += 1;
            if self.peek(at)? == Some(b'u') {
                let second;
                (second, at) = self.hex(at + 1)?;
                units.push(second);
            }
        }
        match char::decode_utf16(units).next() {
            Some(Ok(c)) => Ok((c, at)),
            _ => fail(
                begin - 2,
                format!(
                    "\\u{first:04x} is half of a surrogate pair and names no character: write both \
                     halves, as in \\ud83d\\ude00, or the character itself"
                ),
            ),
        }
    }

    /// Four hexadecimal digits.
    fn hex(&self, begin: usize) -> Result<(u16, usize), Stop> {
        let mut code = 0;
        for at in begin..begin + 4 {
            let digit = self
                .peek(at)?
                .and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return fail(at, "expected four hex digits");
            };
            // A digit is below 16.
            code = code << 4 | digit as u16;
        }
        Ok((code, begin + 4))
    }

    /// A word that begins as a number does.
    #[inline]
    fn number(&mut self, at: usize) -> Result<usize, Stop> {
        let rest = &self.bytes[at..];
        let is_negative = rest.first() == Some(&b'-');
        let rest = &rest[usize::from(is_negative)..];
        let (value, count) = digits(rest);
        let is_over = rest.get(count).is_some_and(|byte| !is_word_byte(*byte));
        if count == 0 || !is_over {
            return self.bare_word(at);
        }
        let end = at + usize::from(is_negative) + count;
        self.bound(at, end)?;
        let value = value.cast_signed();
        let value = if is_negative { -value } else { value };
        self.tape.push(FormNode::Integer(value));
        Ok(end)
    }

    /// A word that is no keyword.
    #[inline(never)]
    fn bare_word(&mut self, at: usize) -> Result<usize, Stop> {
        let end = self.word(at)?;
        let span = self.span(at, end);
        let node = match &self.bytes[at..end] {
            b"true" => FormNode::Bool(true),
            b"false" => FormNode::Bool(false),
            b"null" | b"nil" => FormNode::Nil,
            // A word is UTF-8.
            word => match Form::word(str::from_utf8(word).unwrap_or_default()) {
                Form::Nil => FormNode::Nil,
                Form::Bool(is_true) => FormNode::Bool(is_true),
                Form::Integer(value) => FormNode::Integer(value),
                Form::Number(_) => FormNode::Number(span),
                Form::Text(_)
                | Form::Keyword(_)
                | Form::Symbol(_)
                | Form::List(_)
                | Form::Map(_) => FormNode::Symbol(span),
            },
        };
        self.tape.push(node);
        Ok(end)
    }

    /// Goes past a word, which is UTF-8.
    #[inline]
    fn word(&self, begin: usize) -> Result<usize, Stop> {
        let rest = &self.bytes[begin..];
        let mut all = 0;
        let length = rest.iter().position(|byte| {
            all |= *byte;
            !is_word_byte(*byte)
        });
        let end = begin + length.unwrap_or(rest.len());
        self.bound(begin, end)?;
        if length.is_none() && !self.is_last {
            return Err(Stop::More);
        }
        if begin == end {
            return fail(end, "expected a form");
        }
        match all.is_ascii() || str::from_utf8(&self.bytes[begin..end]).is_ok() {
            true => Ok(end),
            false => fail(end, "a word that is not UTF-8"),
        }
    }

    /// Where a part of the bytes lies in the source of the form.
    #[inline]
    fn span(&self, begin: usize, end: usize) -> TextSpan {
        TextSpan {
            begin: (begin - self.source) as u32,
            end: (end - self.source) as u32,
        }
    }

    /// That none of these bytes is one too many.
    #[inline]
    fn bound(&self, begin: usize, end: usize) -> Result<(), Stop> {
        if end > self.limit {
            let message = format!("a form of more than {FORM_BYTES_MAX} bytes");
            return fail(begin.max(self.limit), message);
        }
        Ok(())
    }
}

/// What is wrong at a place.
#[cold]
fn fail<T>(at: usize, message: impl Into<String>) -> Result<T, Stop> {
    let message = message.into();
    Err(Stop::IllFormed(Box::new(IllFormed { at, message })))
}

/// A natural number behind a comma or a space, and the place behind it.
#[inline(always)]
fn short_integer(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    if !matches!(bytes.get(at)?, b',' | b' ') {
        return None;
    }
    let (value, count) = digits(&bytes[at + 1..]);
    // Where more digits follow, no list ends and none goes on behind these.
    (count > 0).then_some((value.cast_signed(), at + 1 + count))
}

/// What closes a list.
pub(super) fn closing(open: u8) -> u8 {
    if open == b'[' { b']' } else { b')' }
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',')
}

/// That a key names a field for the second time.
pub(super) fn named_twice(name: &str) -> String {
    format!("the field {name:?} stands twice in this map: take one of them out")
}
