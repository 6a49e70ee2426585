//! The time for lines and notes of the program. Records have theirs from the library, which refuses a clock that cannot be
//! right; here the nearest time that can be written down will do.

use std::time::SystemTime;

use jiff::Timestamp;

/// The time.
pub(crate) fn now() -> Timestamp {
    let now = SystemTime::now();
    let nearest = if now < SystemTime::UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(now).unwrap_or(nearest)
}
