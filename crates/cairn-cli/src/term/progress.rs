//! A progress bar for long work, on a terminal only.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use cairn::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is done sooner needs no bar; one that only flashes up is a nuisance.
const PATIENCE: Duration = Duration::from_millis(250);

/// Appears on stderr when work takes longer than a moment, and is gone when it is dropped.
pub(crate) struct Bar {
    started: Instant,
    wanted: bool,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        Bar { started: Instant::now(), wanted: std::io::stderr().is_terminal(), bar: OnceLock::new() }
    }

    /// Shows how far the work is.
    pub(crate) fn show(&self, progress: Progress) {
        if !self.wanted || self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}")
                .expect("the template is a constant")
                .progress_chars("━╸ ");
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style)
        });
        bar.set_message(progress.what);
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
