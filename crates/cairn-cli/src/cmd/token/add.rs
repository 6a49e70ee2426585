//! `cairn token add`: one more that is let in.

use cairn::{NewToken, TokenAdded, TokenInfo, TokenScope};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::term::visible;

/// Make a token and print it, this once
///
/// The token alone goes to stdout, so that `TOKEN=$(cairn token add …)` works.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Say who or what it is for
    name: String,
    /// Choose what its bearer may do: read, record as well, or everything
    #[arg(long, value_name = "SCOPE", default_value = "read", value_parser = scope_parser())]
    scope: TokenScope,
    /// Have its bearer record as this agent, whatever it calls itself
    #[arg(long)]
    agent: Option<String>,
}

fn scope_parser() -> impl TypedValueParser<Value = TokenScope> {
    PossibleValuesParser::new(TokenScope::ALL.map(TokenScope::as_str))
        .map(|word| TokenScope::parse(&word).expect("only the three words pass"))
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    let cairn = app.write()?;
    let added = cairn.token_add(NewToken { name: args.name, scope: args.scope, agent_id: args.agent })?;
    cairn.close();
    let TokenAdded { info, token } = &added;
    let TokenInfo { id, name, scope, agent_id, created_at, .. } = info;
    if app.ui.json {
        let data = json!({"token": token, "id": id, "name": name, "scope": scope, "agent_id": agent_id,
                          "created_at": created_at});
        app.ui.print_json(&data)?;
    } else {
        app.ui.print(&format!("{token}\n"))?;
        app.ui.remark(&told(info));
    }
    Ok(Outcome::Fine)
}

/// What it is for, that it is shown once, how it is used and how it ends.
fn told(info: &TokenInfo) -> String {
    let may = match info.scope {
        TokenScope::Read => "may read",
        TokenScope::Write => "may read and record",
        TokenScope::Admin => "may do everything",
    };
    let agent = info.agent_id.as_ref().map(|agent| format!(", as the agent {}", visible(agent)));
    format!(
        "Whoever has this token {may}{}. It is for {}, and is shown this once: keep it safe.\n\
         Send it as `Authorization: Bearer …`, or sign in to the viewer with it.\n\
         `cairn token revoke {}` ends it.",
        agent.unwrap_or_default(),
        visible(&info.name),
        info.id
    )
}
