//! What the plan was: roadmaps, their snapshots, and how they differ.

use crate::serve::Route;

pub(super) static PAGES: [Route; 0] = [];
