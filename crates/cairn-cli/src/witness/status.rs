//! What is known of a witness: the last head it has seen, and whether it can be reached.

use serde::{Deserialize, Serialize};

use super::Head;
use super::config::Witness;
use super::files::{self, Files};

/// After a failure it is tried again after so many seconds, then after twice as many, and so on,
const FIRST_PAUSE: u64 = 30;
/// up to so many.
const LONGEST_PAUSE: u64 = 60 * 60;

/// What is known of one witness. Kept from one run to the next.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Status {
    /// Entries in the last head that it has taken.
    #[serde(default)]
    pub(crate) size: Option<u64>,
    /// The root of that head.
    #[serde(default)]
    pub(crate) root: Option<String>,
    /// When it took it.
    #[serde(default)]
    pub(crate) at: Option<String>,
    /// When it was last tried.
    #[serde(default)]
    pub(crate) tried: Option<String>,
    /// How often in a row it has failed.
    #[serde(default)]
    pub(crate) failures: u32,
    /// Why, the last time.
    #[serde(default)]
    pub(crate) error: Option<String>,
    /// Whether it has seen another past of this log.
    #[serde(default)]
    pub(crate) contradicts: bool,
}

impl Status {
    /// What is known of a witness. A file that cannot be read is as good as none: the witness is asked anew.
    pub(crate) fn load(files: &Files, witness: &str) -> Status {
        let text = files::read_text(&files.status(witness)).ok().flatten();
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    pub(crate) fn save(&self, files: &Files, witness: &str) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        files::replace(&files.status(witness), (text + "\n").as_bytes())
    }

    /// The last head it has taken.
    pub(crate) fn head(&self) -> Option<Head> {
        let root = self.root.as_ref()?.parse().ok()?;
        Some(Head { size: self.size?, root, at: self.at.clone()? })
    }

    /// Whether it should get this head now, although nobody asked.
    pub(crate) fn is_due(&self, witness: &Witness, head: &Head) -> bool {
        if self.failures > 0 {
            let pause = FIRST_PAUSE.saturating_mul(1 << (self.failures - 1).min(20)).min(LONGEST_PAUSE);
            return seconds_since(self.tried.as_deref()).is_none_or(|passed| passed >= pause);
        }
        let known = self.head();
        if known.as_ref().is_some_and(|known| known.size == head.size && known.root == head.root) {
            return false;
        }
        seconds_since(self.at.as_deref()).is_none_or(|passed| passed >= witness.every)
    }

    /// It is about to be tried. Written before the attempt, so that a crash counts as a failure, and other processes
    /// do not all wait for the same witness.
    pub(crate) fn trying(&mut self, at: String) {
        self.tried = Some(at);
        self.failures = self.failures.saturating_add(1);
    }

    /// It has taken a head.
    pub(crate) fn took(&mut self, head: &Head) {
        self.size = Some(head.size);
        self.root = Some(head.root.to_string());
        self.at = Some(head.at.clone());
        self.failures = 0;
        self.error = None;
        self.contradicts = false;
    }
}

/// Seconds since a time; none if it is no time. One in the future was a moment ago: clocks are set.
pub(crate) fn seconds_since(time: Option<&str>) -> Option<u64> {
    let time: jiff::Timestamp = time?.parse().ok()?;
    Some(u64::try_from(crate::clock::now().as_second() - time.as_second()).unwrap_or(0))
}

/// How long ago something was, for people.
pub(crate) fn age(time: &str) -> String {
    let Some(seconds) = seconds_since(Some(time)) else { return format!("on {time}") };
    match seconds {
        0..=59 => format!("{seconds} s ago"),
        60..=3599 => format!("{} min ago", seconds / 60),
        3600..=172_799 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Place;
    use super::*;

    fn head(size: u64) -> Head {
        Head { size, root: cairn::Sha::of(&size.to_be_bytes()), at: super::super::now() }
    }

    fn ago(seconds: i64) -> String {
        jiff::Timestamp::from_second(jiff::Timestamp::now().as_second() - seconds).unwrap().to_string()
    }

    fn witness(every: u64) -> Witness {
        Witness { name: "w".into(), place: Place::File { path: "/x".into() }, every }
    }

    #[test]
    fn a_file_gets_every_head_once_and_others_after_their_interval() {
        let mut status = Status::default();
        assert!(status.is_due(&witness(0), &head(1)) && status.is_due(&witness(3600), &head(1)));
        status.took(&head(1));
        assert!(!status.is_due(&witness(0), &head(1)) && status.is_due(&witness(0), &head(2)));
        assert!(!status.is_due(&witness(3600), &head(2)));
        status.at = Some(ago(3601));
        assert!(status.is_due(&witness(3600), &head(2)));
    }

    #[test]
    fn what_failed_is_left_alone_for_longer_and_longer() {
        let mut status = Status::default();
        for (failures, pause) in [(1, 30), (2, 60), (3, 120), (8, 3600), (1000, 3600)] {
            status.failures = failures;
            status.tried = Some(ago(pause - 2));
            assert!(!status.is_due(&witness(0), &head(1)), "{failures}");
            status.tried = Some(ago(pause + 1));
            assert!(status.is_due(&witness(0), &head(1)), "{failures}");
        }
        status.tried = Some("rubbish".into());
        assert!(status.is_due(&witness(0), &head(1)));
    }
}
