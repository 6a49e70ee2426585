//! Reads lines, of which none can fill the memory.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::scan::Scanner;

/// The longest line that is read as a message.
pub const MAX_LINE: usize = 16 << 20;

/// A buffer that grew beyond this for one long line is given back.
const KEPT_CAPACITY: usize = 1 << 20;

/// What was read.
pub enum Line {
    /// A line, now in [`Lines::bytes`].
    Whole,
    /// A line of so many bytes, too long to be kept; the scanner has seen all of it.
    TooLong(Scanner, usize),
    /// There is no more.
    End,
}

/// The lines of an input.
pub struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    complete: bool,
    too_long: Option<(Scanner, usize)>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Starts reading; `limit` is in bytes, without the end of the line.
    pub fn new(input: R, limit: usize) -> Lines<R> {
        let input = BufReader::with_capacity(64 << 10, input);
        Lines { input, line: Vec::new(), complete: false, too_long: None, limit }
    }

    /// The line that [`Lines::next`] found last.
    pub fn bytes(&self) -> &[u8] {
        self.line.trim_ascii()
    }

    /// Reads up to the end of the next line. A last line needs no newline.
    ///
    /// May be dropped while it waits and called again: what was read so far is kept.
    pub async fn next(&mut self) -> io::Result<Line> {
        if self.complete {
            self.complete = false;
            self.line.clear();
            self.line.shrink_to(KEPT_CAPACITY);
        }
        loop {
            let piece = self.input.fill_buf().await?;
            let end = piece.iter().position(|&byte| byte == b'\n');
            let at_end = end.is_some() || piece.is_empty();
            let taken = end.map_or(piece.len(), |end| end + 1);
            let text = &piece[..end.unwrap_or(piece.len())];
            if let Some((scanner, length)) = &mut self.too_long {
                scanner.feed(text);
                *length += text.len();
            } else if self.line.len() + text.len() > self.limit {
                let mut scanner = Scanner::over(&self.line);
                scanner.feed(text);
                self.too_long = Some((scanner, self.line.len() + text.len()));
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(text);
            }
            let ended = piece.is_empty();
            self.input.consume(taken);
            if at_end {
                return Ok(self.finish(ended));
            }
        }
    }

    fn finish(&mut self, ended: bool) -> Line {
        if let Some((scanner, length)) = self.too_long.take() {
            return Line::TooLong(scanner, length);
        }
        self.complete = true;
        if ended && self.line.is_empty() { Line::End } else { Line::Whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, limit: usize) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut lines = Lines::new(text.as_bytes(), limit);
            let mut found = Vec::new();
            loop {
                match lines.next().await.unwrap() {
                    Line::Whole => found.push(String::from_utf8(lines.bytes().to_vec()).unwrap()),
                    Line::TooLong(scanner, length) => found.push(format!("{length} {:?}", scanner.id())),
                    Line::End => return found,
                }
            }
        })
    }

    #[test]
    fn a_last_line_needs_no_newline() {
        assert_eq!(read("a\r\n\nbc", 10), ["a", "", "bc"]);
        assert_eq!(read("a\n", 10), ["a"]);
        assert!(read("", 10).is_empty());
    }

    #[test]
    fn a_line_over_the_limit_is_measured_and_the_next_one_read() {
        let found = read("{\"id\":3}\n{\"x\":\"123456789\",\"id\":4}\nok\n{\"id\":5} ......", 10);
        assert_eq!(found, ["{\"id\":3}", "24 Some(Number(4))", "ok", "15 Some(Number(5))"]);
    }
}
