//! The beginning of a text file, by which formats are told apart.

/// The first line of a file's head that is neither blank nor a comment of `comment`.
pub(super) fn first_line(head: &[u8], comment: u8) -> &[u8] {
    head.split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty() && line[0] != comment)
        .unwrap_or_default()
}
