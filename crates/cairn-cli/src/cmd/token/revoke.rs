//! `cairn token revoke`: one that is let in no more.

use cairn::TokenInfo;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::term::{minute, visible};

/// Let the bearer of a token in no more
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its id or a unique beginning of it, or its name if no other has it
    #[arg(value_name = "ID")]
    token: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let id = find(&app.read()?.tokens()?, &args.token)?.id.clone();
    let cairn = app.write()?;
    let revoked = cairn.token_revoke(&id)?;
    cairn.close();
    if app.ui.json {
        app.ui.print_json(&revoked)?;
    } else {
        let since = revoked.revoked_at.as_ref().map(minute).unwrap_or_default();
        let name = visible(&revoked.name);
        app.ui.print(&format!("Revoked {name} ({}), since {since} UTC\n", revoked.id))?;
    }
    Ok(Outcome::Fine)
}

/// The one that is meant. Those that were revoked before are meant only if no other can be.
fn find<'a>(tokens: &'a [TokenInfo], given: &str) -> Result<&'a TokenInfo, CliError> {
    if let Some(exact) = tokens.iter().find(|token| token.id == given) {
        return Ok(exact);
    }
    let fits = |token: &&TokenInfo| !given.is_empty() && (token.id.starts_with(given) || token.name == given);
    let mut found: Vec<&TokenInfo> = tokens.iter().filter(fits).collect();
    if found.iter().any(|token| token.revoked_at.is_none()) {
        found.retain(|token| token.revoked_at.is_none());
    }
    match found[..] {
        [one] => Ok(one),
        [] => {
            Err(CliError::not_found(format!("no token `{given}`"))
                .hint("`cairn token list` shows what there is"))
        }
        _ => {
            let candidates: Vec<String> =
                found.iter().map(|token| format!("{} ({})", token.id, token.name)).collect();
            let message = format!("`{given}` could be any of {}", candidates.join(", "));
            Err(CliError::refused(message).hint("give the id, or more of it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use cairn::{Timestamp, TokenScope};

    use super::*;

    fn token(id: &str, name: &str, revoked: bool) -> TokenInfo {
        let now = || Timestamp::parse("2026-04-17T12:00:00Z").unwrap();
        TokenInfo {
            id: id.into(),
            name: name.into(),
            scope: TokenScope::Read,
            agent_id: None,
            created_at: now(),
            revoked_at: revoked.then(now),
            last_used_at: None,
        }
    }

    fn id<'a>(tokens: &'a [TokenInfo], given: &str) -> Result<&'a str, String> {
        let message = |error: CliError| error.envelope()["error"]["message"].as_str().unwrap().to_string();
        find(tokens, given).map(|token| token.id.as_str()).map_err(message)
    }

    #[test]
    fn a_token_is_found_by_id_beginning_or_name() {
        let tokens = [
            token("ab12", "ci", true),
            token("ab34", "ci", false),
            token("cd56", "ab", false),
            token("ab", "x", true),
        ];
        for (given, meant) in [
            ("ab12", "ab12"), // A whole id, revoked or not.
            ("ab", "ab"),     // It wins over longer ones and over names.
            ("ab3", "ab34"),
            ("c", "cd56"),
            ("ci", "ab34"), // Of two of one name the one that is not revoked.
            ("a", "ab34"),
            ("x", "ab"),
        ] {
            assert_eq!(id(&tokens, given), Ok(meant), "{given}");
        }
        for nothing in ["", "ab9", "CI", "%"] {
            assert_eq!(id(&tokens, nothing), Err(format!("no token `{nothing}`")));
        }
    }

    #[test]
    fn of_several_that_fit_all_are_named() {
        let tokens = [token("ab12", "ci", false), token("ab34", "ci", false), token("cd56", "ab", false)];
        for (given, candidates) in [("ci", "ab12 (ci), ab34 (ci)"), ("ab", "ab12 (ci), ab34 (ci), cd56 (ab)")]
        {
            assert_eq!(id(&tokens, given), Err(format!("`{given}` could be any of {candidates}")));
        }
    }
}
