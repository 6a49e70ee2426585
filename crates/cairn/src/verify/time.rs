//! Whether the time of records runs back. The log's order does not depend on the clock, so this is no finding: it is
//! what a reader of the times should know.

use jiff::Timestamp;

/// A clock that is set, and two clocks that differ a little, are no news.
const TOLERANCE_SECONDS: i64 = 60;

/// Times in the order of the log.
#[derive(Default)]
pub struct Times {
    first: String,
    latest: String,
    /// Where it ran back first, and how often.
    back: Option<(u64, u64)>,
}

impl Times {
    /// Takes the next time.
    pub fn see(&mut self, seq: u64, time: &str) {
        if self.first.is_empty() {
            self.first.push_str(time);
        }
        // As texts of one form they sort as times do; anything else is looked at more closely.
        if time >= self.latest.as_str() {
            self.latest.clear();
            self.latest.push_str(time);
        } else if runs_back(&self.latest, time) {
            self.note(seq);
        }
    }

    fn note(&mut self, seq: u64) {
        match &mut self.back {
            Some((_, count)) => *count += 1,
            None => self.back = Some((seq, 1)),
        }
    }

    /// Puts what another part of the log saw, which begins at `seq`, behind this one.
    pub fn append(&mut self, seq: u64, later: Times) {
        if runs_back(&self.latest, &later.first) {
            self.note(seq);
        }
        self.back = match (self.back, later.back) {
            (Some((first, count)), Some((_, more))) => Some((first, count + more)),
            (one, other) => one.or(other),
        };
        if self.first.is_empty() {
            self.first = later.first;
        }
        if later.latest > self.latest {
            self.latest = later.latest;
        }
    }

    /// What a reader should know.
    pub fn note_of(&self) -> Option<String> {
        let (seq, count) = self.back?;
        let times = if count == 1 { "one record has".to_string() } else { format!("{count} records have") };
        Some(format!(
            "{times} an earlier time than a record before (the first is log entry {seq}): order is proved by the log, \
             times are what the clock said"
        ))
    }
}

fn runs_back(before: &str, time: &str) -> bool {
    match (before.parse::<Timestamp>(), time.parse::<Timestamp>()) {
        (Ok(before), Ok(time)) => before.as_second() - time.as_second() > TOLERANCE_SECONDS,
        // What is no time is found to be wrong elsewhere.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_no_news_and_more_is() {
        let mut times = Times::default();
        times.see(1, "2026-04-17T09:30:00.000Z");
        times.see(2, "2026-04-17T09:29:00.000Z");
        assert_eq!(times.note_of(), None);
        times.see(3, "2026-04-17T09:28:58.999Z");
        assert!(times.note_of().unwrap().contains("log entry 3"));
        times.see(4, "2026-04-17T09:31:00Z");
        let mut later = Times::default();
        later.see(9, "2020-01-01T00:00:00Z");
        times.append(9, later);
        assert!(times.note_of().unwrap().starts_with("2 records have"));
    }
}
