//! What the one who calls may do. On standard input and output that is everything; over HTTP a token says.

use cairn::TokenScope;
use rmcp::RoleServer;
use rmcp::model::JsonObject;
use rmcp::service::RequestContext;

use super::envelope::Failure;
use super::tools::{Call, Tool};

/// Comes with a request, among its extensions.
#[derive(Debug, Clone)]
pub struct Permit {
    /// What may be done.
    pub scope: TokenScope,
    /// The only agent in whose name it may be done, if there is one.
    pub agent: Option<String>,
}

impl Permit {
    /// What comes with this request.
    pub fn of(context: &RequestContext<RoleServer>) -> Permit {
        let given = context.extensions.get::<Permit>().cloned();
        given.unwrap_or(Permit { scope: TokenScope::Admin, agent: None })
    }

    /// Refuses a call that goes beyond it, and puts the agent into the arguments of one that does not name it.
    pub fn check(&self, tool: &Tool, arguments: &mut JsonObject) -> Result<(), Failure> {
        let needed = tool.needs();
        if self.scope < needed {
            let (has, needs) = (self.scope.as_str(), needed.as_str());
            let message = format!("this token may {has}, and {} needs a token with scope {needs}", tool.name);
            return Err(Failure::new("FORBIDDEN", message));
        }
        let Some(agent) = &self.agent else { return Ok(()) };
        let metadata = arguments.get("metadata").and_then(|metadata| metadata.get("agent_id"));
        let (argument, named) = match &tool.call {
            Call::Record(..) => {
                ("agent_id", vec![arguments.get("agent_id"), arguments.get("agentId"), metadata])
            }
            _ if tool.args.iter().any(|arg| arg.name == "by") => ("by", vec![arguments.get("by")]),
            _ => return Ok(()),
        };
        if named.iter().flatten().any(|named| !named.is_null() && named.as_str() != Some(agent)) {
            let message =
                format!("{argument}: this token records as `{agent}` and nobody else; leave {argument} out");
            return Err(Failure::new("FORBIDDEN", message));
        }
        arguments.remove("agentId");
        arguments.insert(argument.to_string(), agent.as_str().into());
        Ok(())
    }
}
