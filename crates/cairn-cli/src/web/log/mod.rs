//! The log itself: entries, checkpoints, and whether it is what was recorded.

use crate::serve::Route;

pub(super) static PAGES: [Route; 0] = [];
