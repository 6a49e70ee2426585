//! Keeps the output of a command for a test.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::Ui;

/// Bytes that a command printed. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// Everything so far, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no writer panics")).into_owned()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Ui {
    /// Keeps results and remarks from now on instead of printing them.
    pub(crate) fn keep(&mut self) -> Kept {
        self.kept.insert(Kept::default()).clone()
    }
}
