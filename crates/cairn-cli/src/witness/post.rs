//! One HTTP request, with an end: bounded time, bounded answer, no redirects.

use std::time::Duration;

use super::Deadline;

/// What came back.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The beginning of the body on one line, for people.
    pub(super) fn words(&self) -> String {
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(200)]).into_owned();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Sends a body and reads the answer, whatever its status.
pub(super) fn post(
    url: &str,
    content_type: &str,
    body: &[u8],
    limit: u64,
    deadline: Deadline,
) -> Result<Answer, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(deadline.left().max(Duration::from_millis(50))))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("cairn/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let failed = |error: ureq::Error| match error {
        ureq::Error::Timeout(_) => "it did not answer in time".to_string(),
        ureq::Error::BodyExceedsLimit(limit) => format!("it answered with more than {limit} bytes"),
        other => format!("it could not be asked: {other}"),
    };
    let mut answer = agent.post(url).content_type(content_type).send(body).map_err(failed)?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(limit).read_to_vec().map_err(failed)?;
    Ok(Answer { status, body })
}

/// Says why something is no address to send to, if it is none.
pub(crate) fn bad_url(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    match host {
        None => Some(format!("`{url}` does not begin with https:// or http://")),
        Some("") => Some(format!("`{url}` names no host")),
        Some(_) if url.contains(char::is_whitespace) || url.contains(char::is_control) => {
            Some("a URL has no spaces in it".to_string())
        }
        Some(host) if host.contains('@') => {
            Some("a URL with a password in it would be kept and shown; leave it out".to_string())
        }
        Some(_) => None,
    }
}
