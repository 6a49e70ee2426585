//! Access tokens.

use tokio_postgres::Row;

use super::append::PostgresAppend;
use super::connect::Link;
use super::row::{get, typed, typed_or_none, wrong_form};
use super::{PostgresStore, Result};
use crate::store::{StoreError, TokenAppend, TokenInfo, TokenReader, TokenRow, TokenScope};

/// The columns that [`to_token`] reads.
const TOKEN: &str =
    "SELECT id, name, scope, agent_id, created_at, revoked_at, last_used_at, sha256 FROM token";

fn to_token(row: &Row) -> Result<TokenRow> {
    let info = TokenInfo {
        id: get(row, 0)?,
        name: get(row, 1)?,
        scope: TokenScope::parse(get(row, 2)?).ok_or_else(wrong_form)?,
        agent_id: get(row, 3)?,
        created_at: typed(get(row, 4)?, TryFrom::try_from)?,
        revoked_at: typed_or_none(get(row, 5)?, TryFrom::try_from)?,
        last_used_at: typed_or_none(get(row, 6)?, TryFrom::try_from)?,
    };
    Ok(TokenRow { info, sha256: get(row, 7)? })
}

/// The token of that id.
async fn token(link: &Link, id: &str) -> Result<Option<TokenRow>> {
    link.one(&format!("{TOKEN} WHERE id = $1"), &[&id]).await?.as_ref().map(to_token).transpose()
}

impl TokenReader for PostgresStore {
    fn token(&self, id: &str) -> Result<Option<TokenRow>> {
        self.read_here(async |link| token(link, id).await)
    }

    fn tokens(&self) -> Result<Vec<TokenInfo>> {
        self.read_here(async |link| {
            let rows = link.all(&format!("{TOKEN} ORDER BY no"), &[]).await?;
            rows.iter().map(|row| to_token(row).map(|token| token.info)).collect()
        })
    }
}

impl TokenAppend for PostgresAppend {
    fn token(&mut self, id: &str) -> Result<Option<TokenRow>> {
        self.wait(async |link| token(link, id).await)
    }

    fn insert_token(&mut self, row: &TokenRow) -> Result<()> {
        self.wait(async |link| {
            let TokenInfo { id, name, scope, agent_id, created_at, .. } = &row.info;
            let added = link
                .run(
                    "INSERT INTO token (id, name, scope, agent_id, sha256, created_at) VALUES ($1, $2, $3, $4, $5, $6)
                     ON CONFLICT (id) DO NOTHING",
                    &[id, name, &scope.as_str(), agent_id, &row.sha256, &created_at.as_str()],
                )
                .await?;
            // A row that a trigger dropped is not there either; reading it back tells.
            if added == 0 && token(link, id).await?.is_some() { Err(StoreError::Taken("id")) } else { Ok(()) }
        })
    }

    fn set_token_times(
        &mut self,
        id: &str,
        revoked_at: Option<&str>,
        last_used_at: Option<&str>,
    ) -> Result<()> {
        self.execute(
            "UPDATE token SET revoked_at = $2, last_used_at = $3 WHERE id = $1",
            &[&id, &revoked_at, &last_used_at],
        )
    }
}
