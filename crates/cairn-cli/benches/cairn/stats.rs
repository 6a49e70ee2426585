//! Repeated measurements: the median, and how far they lie apart.

use std::time::Duration;

/// The same thing, measured several times.
#[derive(Debug, Clone, Default)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// Adds a measurement.
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Adds a duration in milliseconds.
    pub fn add_ms(&mut self, time: Duration) {
        self.add(time.as_secs_f64() * 1e3);
    }

    /// Adds the measurements of another one.
    pub fn extend(&mut self, other: Sample) {
        self.0.extend(other.0);
    }

    /// The value below which a share of the measurements lie.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let place = sorted.len().saturating_sub(1) as f64 * share;
        let at = |place: f64| sorted.get(place as usize).copied().unwrap_or(f64::NAN);
        at(place.floor()) + (at(place.ceil()) - at(place.floor())) * place.fract()
    }

    /// The measurement in the middle.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The largest measurement.
    pub fn max(&self) -> f64 {
        self.quantile(1.0)
    }

    /// This against that, round by round: what slows the machine for a while slows both.
    pub fn over(&self, other: &Sample) -> Sample {
        Sample(self.0.iter().zip(&other.0).map(|(this, that)| this / that).collect())
    }

    /// Median and range.
    pub fn show(&self) -> String {
        if self.0.is_empty() {
            return "–".to_string();
        }
        format!("{} ({}–{})", number(self.median()), number(self.quantile(0.0)), number(self.max()))
    }
}

/// A number with as many digits as mean something.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => grouped(value.round() as i64),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn grouped(value: i64) -> String {
    let digits = value.abs().to_string();
    let mut text = if value < 0 { "-".to_string() } else { String::new() };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
