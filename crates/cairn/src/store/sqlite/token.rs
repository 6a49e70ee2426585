//! Access tokens.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteStore;
use super::append::SqliteAppend;
use super::error::store_error;
use super::read::{typed, typed_or_none};
use crate::store::{Result, TokenAppend, TokenInfo, TokenReader, TokenRow, TokenScope};

/// The columns that [`to_token`] reads.
const TOKEN: &str =
    "SELECT id, name, scope, agent_id, created_at, revoked_at, last_used_at, sha256 FROM token";

fn to_token(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    let info = TokenInfo {
        id: row.get(0)?,
        name: row.get(1)?,
        scope: TokenScope::parse(row.get_ref(2)?.as_str()?)
            .ok_or(rusqlite::types::FromSqlError::InvalidType)?,
        agent_id: row.get(3)?,
        created_at: typed(row.get(4)?, TryFrom::try_from)?,
        revoked_at: typed_or_none(row.get(5)?, TryFrom::try_from)?,
        last_used_at: typed_or_none(row.get(6)?, TryFrom::try_from)?,
    };
    Ok(TokenRow { info, sha256: row.get(7)? })
}

/// The token of that id.
fn token(connection: &Connection, id: &str) -> rusqlite::Result<Option<TokenRow>> {
    connection.prepare_cached(&format!("{TOKEN} WHERE id = ?1"))?.query_row([id], to_token).optional()
}

impl TokenReader for SqliteStore {
    fn token(&self, id: &str) -> Result<Option<TokenRow>> {
        self.read(|connection| token(connection, id))
    }

    fn tokens(&self) -> Result<Vec<TokenInfo>> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!("{TOKEN} ORDER BY no"))?
                .query_map([], |row| to_token(row).map(|token| token.info))?
                .collect()
        })
    }
}

impl TokenAppend for SqliteAppend<'_> {
    fn token(&mut self, id: &str) -> Result<Option<TokenRow>> {
        token(self.transaction, id).map_err(store_error)
    }

    fn insert_token(&mut self, row: &TokenRow) -> Result<()> {
        let TokenInfo { id, name, scope, agent_id, created_at, .. } = &row.info;
        self.execute("INSERT INTO token (id, name, scope, agent_id, sha256, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)", params![id, name, scope.as_str(), agent_id, row.sha256, created_at.as_str()])
    }

    fn set_token_times(
        &mut self,
        id: &str,
        revoked_at: Option<&str>,
        last_used_at: Option<&str>,
    ) -> Result<()> {
        self.execute(
            "UPDATE token SET revoked_at = ?2, last_used_at = ?3 WHERE id = ?1",
            params![id, revoked_at, last_used_at],
        )
    }
}
