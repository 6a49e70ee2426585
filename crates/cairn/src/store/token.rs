//! Access tokens.

use std::fmt;

use cairn_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::Result;

/// The rights of a token; each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenScope {
    /// Read everything that is recorded.
    Read,
    /// Record as well.
    Write,
    /// Do everything else as well, such as redacting.
    Admin,
}

impl TokenScope {
    /// All three, from the least to the most.
    pub const ALL: [TokenScope; 3] = [TokenScope::Read, TokenScope::Write, TokenScope::Admin];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            TokenScope::Read => "read",
            TokenScope::Write => "write",
            TokenScope::Admin => "admin",
        }
    }

    /// The scope with this word.
    pub fn parse(word: &str) -> Option<TokenScope> {
        TokenScope::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A token without its secret part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenInfo {
    /// The part of it that names it, and is no secret.
    pub id: String,
    /// Its purpose.
    pub name: String,
    /// The rights of its bearer.
    pub scope: TokenScope,
    /// As whom its bearer records.
    pub agent_id: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, as far as that was noted.
    pub last_used_at: Option<Timestamp>,
}

/// An access token as it is kept.
#[derive(Debug, Clone)]
pub struct TokenRow {
    /// The token without its secret part.
    pub info: TokenInfo,
    /// SHA-256 of the whole token.
    pub sha256: Vec<u8>,
}

/// Reads access tokens.
pub trait TokenReader {
    /// The access token of that id.
    fn token(&self, id: &str) -> Result<Option<TokenRow>>;
    /// All access tokens, in the order in which they were made.
    fn tokens(&self) -> Result<Vec<TokenInfo>>;
}

/// Adds access tokens and notes their use.
pub trait TokenAppend {
    /// See [`TokenReader::token`].
    fn token(&mut self, id: &str) -> Result<Option<TokenRow>>;
    /// Adds an access token.
    fn insert_token(&mut self, row: &TokenRow) -> Result<()>;
    /// Sets when an access token was revoked and last used.
    fn set_token_times(
        &mut self,
        id: &str,
        revoked_at: Option<&str>,
        last_used_at: Option<&str>,
    ) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_ordered_and_known_by_their_words() {
        assert!(TokenScope::Read < TokenScope::Write && TokenScope::Write < TokenScope::Admin);
        for scope in TokenScope::ALL {
            assert_eq!(TokenScope::parse(scope.as_str()), Some(scope));
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
        }
        assert_eq!(TokenScope::parse("Read"), None);
    }
}
