//! The command tags of a connection, which the driver reads and keeps to itself. Source: PostgreSQL manual, "Frontend/Backend
//! Protocol", "Message Formats", CommandComplete.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// CommandComplete.
const COMPLETE: u8 = b'C';

/// The kind of a message, and its length, which counts itself.
const HEAD: usize = 5;

/// A socket whose messages from the server are listened to.
pub(super) struct Overheard<S> {
    socket: S,
    tags: SharedTags,
}

impl<S> Overheard<S> {
    pub(super) fn new(socket: S, tags: SharedTags) -> Self {
        Self { socket, tags }
    }
}

/// The tags of a connection, for the socket and for who asks.
#[derive(Clone, Default)]
pub(super) struct SharedTags(Arc<Mutex<CommandTags>>);

impl SharedTags {
    /// Forgets what was heard: a statement is sent. What the driver asks about the types of its columns comes behind its answer.
    pub(super) fn forget(&self) {
        self.with(|tags| tags.first = None);
    }

    /// The words of the first tag since then, without the numbers.
    pub(super) fn first(&self) -> Option<String> {
        self.with(|tags| tags.first.clone())
    }

    fn with<T>(&self, work: impl FnOnce(&mut CommandTags) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What was read of the server's messages.
#[derive(Debug, Default)]
struct CommandTags {
    /// Of the head of a message that has not come whole.
    head: Vec<u8>,
    /// Bytes of the message's body that are still to come.
    left: usize,
    /// Of the body, where the message is a CommandComplete.
    body: Option<Vec<u8>>,
    first: Option<String>,
}

impl CommandTags {
    fn hear(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.left {
                0 => self.hear_head(bytes),
                _ => self.hear_body(bytes),
            };
        }
    }

    fn hear_head<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (now, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend(now);
        if let [kind, length @ ..] = self.head.as_slice()
            && let Ok(length) = <[u8; 4]>::try_from(length)
        {
            let length = u32::from_be_bytes(length) as usize;
            self.left = length.saturating_sub(length.min(4));
            self.body = (*kind == COMPLETE).then(Vec::new);
            self.head.clear();
        }
        rest
    }

    fn hear_body<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (now, rest) = bytes.split_at(bytes.len().min(self.left));
        self.left -= now.len();
        if let Some(body) = &mut self.body {
            body.extend(now);
        }
        if let Some(body) = self.body.take_if(|_| self.left == 0) {
            self.first.get_or_insert_with(|| words_of(&body));
        }
        rest
    }
}

/// The words of a tag: `INSERT` of `INSERT 0 1`.
fn words_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let words = text.trim_end_matches('\0').split(' ');
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let words: Vec<&str> = words.filter(|word| !is_number(word)).collect();
    words.join(" ")
}

impl<S: AsyncRead + Unpin> AsyncRead for Overheard<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.socket).poll_read(context, buffer);
        if matches!(polled, Poll::Ready(Ok(()))) {
            this.tags.with(|tags| tags.hear(&buffer.filled()[before..]));
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Overheard<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ParseComplete, NoData, two CommandCompletes, ReadyForQuery.
    const ANSWER: &[u8] = b"1\0\0\0\x04n\0\0\0\x04C\0\0\0\x0fINSERT 0 1\0\
                            C\0\0\0\x0bCOMMIT\0Z\0\0\0\x05I";

    #[test]
    fn the_first_tag_is_heard_however_the_bytes_come() {
        for size in 1..ANSWER.len() {
            let tags = SharedTags::default();
            for part in ANSWER.chunks(size) {
                tags.with(|tags| tags.hear(part));
            }
            assert_eq!(tags.first().as_deref(), Some("INSERT"), "{size}");
            tags.forget();
            assert_eq!(tags.first(), None, "{size}");
            tags.with(|tags| tags.hear(&ANSWER[26..]));
            assert_eq!(tags.first().as_deref(), Some("COMMIT"), "{size}");
        }
    }

    #[test]
    fn a_tag_is_its_words() {
        assert_eq!(words_of(b"LOCK TABLE\0"), "LOCK TABLE");
        assert_eq!(words_of(b"SELECT 12\0"), "SELECT");
    }
}
