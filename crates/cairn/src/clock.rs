//! The clock: what time it is, if it says a time that can be written down.

use std::sync::Arc;
use std::time::SystemTime;

use cairn_core::time::Timestamp;

use crate::store::StoreError;

/// The first and the last moment that a record can have.
const FIRST: &str = "1970-01-01T00:00:00.000Z";
const LAST: &str = "9999-12-31T23:59:59.999Z";

/// Tells the time.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> Result<Timestamp, StoreError> + Send + Sync>);

impl Clock {
    /// The clock of the system.
    pub(crate) fn system() -> Clock {
        Clock(Arc::new(|| at(SystemTime::now())))
    }

    /// A clock that somebody brought along.
    pub(crate) fn of(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Clock {
        Clock(Arc::new(move || {
            let time = clock();
            if time.as_str() < FIRST { Err(StoreError::Clock(time.to_string())) } else { Ok(time) }
        }))
    }

    /// The time, if it is one that a record can have.
    pub(crate) fn now(&self) -> Result<Timestamp, StoreError> {
        (self.0)()
    }

    /// The time to be shown, and not recorded: a clock out of range gives the nearer end of the range.
    pub(crate) fn shown(&self) -> Timestamp {
        (self.0)().unwrap_or_else(|error| {
            let late = matches!(error, StoreError::Clock(told) if told.starts_with('+'));
            Timestamp::parse(if late { LAST } else { FIRST }).expect("both are timestamps")
        })
    }
}

/// UTC with milliseconds, `2026-04-17T09:30:00.000Z`; or how far from 1970 the clock is.
fn at(time: SystemTime) -> Result<Timestamp, StoreError> {
    if let Err(before) = time.duration_since(SystemTime::UNIX_EPOCH) {
        let before = before.duration();
        return Err(StoreError::Clock(match jiff::Timestamp::UNIX_EPOCH.checked_sub(before) {
            Ok(time) => format!("{time:.3}"),
            Err(_) => format!("{} seconds before 1970", before.as_secs()),
        }));
    }
    let late = || {
        let years =
            time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() / 31_556_952);
        StoreError::Clock(format!("+{}", 1970 + years))
    };
    let time = jiff::Timestamp::try_from(time).map_err(|_| late())?;
    Timestamp::parse(format!("{time:.3}")).map_err(|_| late())
}

/// An id of UUID version 7, which begins with the time of the system's clock.
pub(crate) fn new_id() -> Result<uuid::Uuid, StoreError> {
    at(SystemTime::now())?;
    Ok(uuid::Uuid::now_v7())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const YEAR: u64 = 31_556_952;

    #[test]
    fn a_time_from_1970_to_9999_is_told_and_no_other() {
        let told = |error| match error {
            StoreError::Clock(told) => told,
            other => panic!("{other}"),
        };
        let after = |seconds| at(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).map_err(told);
        assert_eq!(after(0).unwrap().as_str(), FIRST);
        assert_eq!(after(1_776_418_200).unwrap().as_str(), "2026-04-17T09:30:00.000Z");
        assert!(after(8029 * YEAR).unwrap().as_str().starts_with("9999-"));
        assert_eq!(after(8031 * YEAR).unwrap_err(), "+10001");
        assert_eq!(after(1 << 50).unwrap_err().split_at(1).0, "+");
        let before = |seconds| told(at(SystemTime::UNIX_EPOCH - Duration::from_secs(seconds)).unwrap_err());
        assert_eq!(before(1), "1969-12-31T23:59:59.000Z");
        assert!(before(1 << 50).ends_with(" seconds before 1970"));
    }

    #[test]
    fn those_who_only_show_a_time_always_have_one() {
        let told =
            |text: &'static str| Clock(Arc::new(move || Err(StoreError::Clock(text.to_string())))).shown();
        assert_eq!(told("1969-12-31T23:59:59.000Z").as_str(), FIRST);
        assert_eq!(told("+10001").as_str(), LAST);
    }
}
