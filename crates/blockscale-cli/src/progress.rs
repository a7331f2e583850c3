//! A bar on stderr when that is a terminal; otherwise silence.

use std::io::IsTerminal;

use blockscale_convert::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Bytes done, rate and time left.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new(verb: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, target());
        let template = "{msg} [{bar:32}] {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(verb);
        Self(bar)
    }

    pub(crate) fn done(&self) {
        self.0.finish_and_clear();
    }
}

fn target() -> ProgressDrawTarget {
    if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}

impl Progress for Bar {
    fn start(&self, total: u64, done: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
        self.0.reset_eta();
    }

    fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }
}
