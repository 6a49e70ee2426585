//! Access tokens: who may use a database over HTTP, and for what.
//!
//! They are access control, not evidence. The log does not tell of them, `verify` does not cover them and no bundle
//! carries them; a backup, being a copy of the file, does.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cairn_core::Sha;
use cairn_core::id::{AgentId, LabelError, check_label};
use cairn_core::thought::Issue;
use cairn_core::time::Timestamp;
use subtle::ConstantTimeEq;

use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::{StoreError, TokenRow};
pub use crate::store::{TokenInfo, TokenScope};

/// What every token begins with, so that it can be told when it turns up somewhere.
const PREFIX: &str = "cairn_";
/// Characters of the part that names a token.
const ID_CHARS: usize = 12;
/// Characters of the part that is secret: 32 bytes as base64url.
const SECRET_CHARS: usize = 43;
/// Digits and small letters without i, l, o and u: nobody takes one for another, and no words come about.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// What it is for: 1 to 200 characters. Several may have one name.
    pub name: String,
    /// What its bearer may do.
    pub scope: TokenScope,
    /// As whom its bearer records, whatever it says itself.
    pub agent_id: Option<String>,
}

/// A token that was made. This is the only time that it can be seen.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenAdded {
    /// What is known of it.
    pub info: TokenInfo,
    /// The token.
    pub token: String,
}

impl fmt::Debug for TokenAdded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenAdded").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Cairn {
    /// Makes a token.
    pub fn token_add(&self, new: NewToken) -> Result<TokenAdded> {
        check(&new)?;
        let (id, token) = random()?;
        let info = TokenInfo {
            id,
            name: new.name,
            scope: new.scope,
            agent_id: new.agent_id,
            created_at: self.inner.clock.now()?,
            revoked_at: None,
            last_used_at: None,
        };
        let row = TokenRow { info: info.clone(), sha256: Sha::of(token.as_bytes()).0.to_vec() };
        self.writer()?.write_now(move |step| step.add_token(&row))?;
        // A trigger may have dropped the row or given it another scope.
        if self.token_check(&token)?.as_ref() != Some(&info) {
            return Err(not_stored(&info.id, "made"));
        }
        Ok(TokenAdded { info, token })
    }

    /// All tokens, also those that were revoked, in the order in which they were made.
    pub fn tokens(&self) -> Result<Vec<TokenInfo>> {
        Ok(self.inner.store.tokens()?)
    }

    /// Revokes a token: nobody gets in with it any more. One that was revoked before keeps its time.
    pub fn token_revoke(&self, id: &str) -> Result<TokenInfo> {
        let asked = id.to_string();
        let revoked = self.writer()?.write_now(move |step| step.revoke_token(&asked))?;
        // A trigger may have dropped the change. Nobody may believe that a token is revoked while it lets people in.
        let stored = self.inner.store.token(id)?.and_then(|row| row.info.revoked_at);
        let listed = self.inner.store.tokens()?.into_iter().filter(|info| info.id == id);
        if stored != revoked.revoked_at || listed.map(|info| info.revoked_at).ne([stored]) {
            return Err(not_stored(id, "revoked"));
        }
        Ok(revoked)
    }

    /// Returns what is known of a token, also if it was revoked: whoever lets somebody in must look at that. None if
    /// it is not one of this database.
    pub fn token_check(&self, token: &str) -> Result<Option<TokenInfo>> {
        let Some(id) = id_of(token) else { return Ok(None) };
        let Some(row) = self.inner.store.token(id)? else { return Ok(None) };
        // How long it takes must not tell how much of it was right.
        let same = Sha::of(token.as_bytes()).0[..].ct_eq(&row.sha256[..]);
        Ok(bool::from(same).then_some(row.info))
    }

    /// Notes that a token was used; an earlier time than the one that is known changes nothing.
    ///
    /// This is a write like any other: once a minute is enough.
    pub fn token_used(&self, id: &str, at: Timestamp) -> Result<()> {
        let id = id.to_string();
        self.writer()?.write_now(move |step| step.note_token_used(&id, &at))
    }
}

/// The error for a token that was `written`, and reads back as something else.
fn not_stored(id: &str, written: &str) -> Error {
    StoreError::Damaged(format!("token {id} was to be {written}, and the database did not store that")).into()
}

fn check(new: &NewToken) -> Result<()> {
    let issue = |path: &str, checked: std::result::Result<(), LabelError>| {
        checked.err().map(|error| Issue::new(path, error))
    };
    let agent = new.agent_id.as_ref().map_or(Ok(()), |id| AgentId::new(id).map(drop));
    let issues: Vec<Issue> =
        issue("name", check_label(&new.name)).into_iter().chain(issue("agent_id", agent)).collect();
    if issues.is_empty() { Ok(()) } else { Err(Error::Invalid(issues)) }
}

/// A new id and the token that begins with it.
fn random() -> Result<(String, String)> {
    let mut bytes = [0; ID_CHARS + 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreError::Other(format!("the system gave no random numbers: {error}")))?;
    let (letters, secret) = bytes.split_at(ID_CHARS);
    let id: String = letters.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
    let token = format!("{PREFIX}{id}_{}", URL_SAFE_NO_PAD.encode(secret));
    Ok((id, token))
}

/// The part of a token that names it; none if it has not the form of one.
fn id_of(token: &str) -> Option<&str> {
    let (id, rest) = token.strip_prefix(PREFIX)?.split_at_checked(ID_CHARS)?;
    let secret = rest.strip_prefix('_')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_id = id.bytes().all(|byte| LETTERS.contains(&byte));
    (is_id && secret.len() == SECRET_CHARS && secret.bytes().all(plain)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_its_form_and_no_two_are_alike() {
        let (id, token) = random().unwrap();
        assert_eq!((id.len(), token.len()), (12, 62));
        assert_eq!(id_of(&token), Some(id.as_str()));
        assert!(token.starts_with(&format!("cairn_{id}_")));
        let (other, other_token) = random().unwrap();
        assert!(id != other && token[19..] != other_token[19..]);
    }

    #[test]
    fn what_has_another_form_is_no_token() {
        let (id, token) = random().unwrap();
        let secret = &token[19..];
        for wrong in [
            String::new(),
            "cairn_".to_string(),
            token[1..].to_string(),
            token[..61].to_string(),
            format!("{token}A"),
            format!("{token}\n"),
            format!(" {token}"),
            token.replace("cairn_", "Cairn_"),
            format!("cairn_{id}.{secret}"),
            format!("cairn_{}_{secret}", "ö".repeat(6)),
            format!("cairn_{}_{secret}", id.to_uppercase().replace(|c: char| c.is_ascii_digit(), "A")),
            format!("cairn_{id}_{}+", &secret[..42]),
            "ö".repeat(31),
        ] {
            assert_eq!(id_of(&wrong), None, "{wrong}");
        }
    }
}
