//! Access tokens: rows that no entry of the log tells of.

use cairn_core::time::Timestamp;

use super::Step;
use crate::error::{Error, Result};
use crate::store::{StoreError, TokenRow};
use crate::token::TokenInfo;

impl Step<'_> {
    /// Adds a token.
    pub fn add_token(&mut self, row: &TokenRow) -> Result<()> {
        match self.tx.insert_token(row) {
            Err(StoreError::Taken(_)) => Err(Error::Conflict("a token of this id is there already".into())),
            other => Ok(other?),
        }
    }

    /// Revokes a token, unless it was before.
    pub fn revoke_token(&mut self, id: &str) -> Result<TokenInfo> {
        let mut info = self.token(id)?;
        if info.revoked_at.is_none() {
            let now = self.clock.now()?;
            self.tx.set_token_times(
                id,
                Some(now.as_str()),
                info.last_used_at.as_ref().map(Timestamp::as_str),
            )?;
            info.revoked_at = Some(now);
        }
        Ok(info)
    }

    /// Notes when a token was used, if that is news.
    pub fn note_token_used(&mut self, id: &str, at: &Timestamp) -> Result<()> {
        let info = self.token(id)?;
        if info.last_used_at.is_none_or(|known| is_later(at, &known)) {
            self.tx.set_token_times(
                id,
                info.revoked_at.as_ref().map(Timestamp::as_str),
                Some(at.as_str()),
            )?;
        }
        Ok(())
    }

    fn token(&mut self, id: &str) -> Result<TokenInfo> {
        let row = self.tx.token(id)?;
        Ok(row.ok_or_else(|| Error::NotFound { what: "token", id: id.to_string() })?.info)
    }
}

/// As texts of one form times sort as they should, and the fraction of a second may be left out.
fn is_later(one: &Timestamp, other: &Timestamp) -> bool {
    let time = |text: &Timestamp| text.as_str().parse::<jiff::Timestamp>().ok();
    match (time(one), time(other)) {
        (Some(one), Some(other)) => one > other,
        _ => one.as_str() > other.as_str(),
    }
}
