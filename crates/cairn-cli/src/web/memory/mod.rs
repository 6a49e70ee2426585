//! What each stage of an agent knew: turns and briefs.

use crate::serve::Route;

pub(super) static PAGES: [Route; 0] = [];
