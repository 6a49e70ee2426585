//! Signing in to the viewer: a token goes into a cookie that no script can read.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{HeaderValue, LOCATION, SET_COOKIE};

use super::Site;
use super::access::{self, COOKIE_NAME};
use super::reply::{Asked, Problem, Reply, reply};
use crate::web;

/// How long a browser keeps the cookie.
const DAYS: u64 = 30;

/// Checks a token that was typed into the form.
pub(super) async fn answer(
    site: &Arc<Site>,
    body: &[u8],
    from: IpAddr,
    asked: Asked,
) -> Result<Reply, Problem> {
    let field =
        |name: &str| form_urlencoded::parse(body).find(|(known, _)| known == name).map(|(_, value)| value);
    let token = field("token").unwrap_or_default().trim().to_string();
    let next = field("next").filter(|next| is_local(next)).map_or("/".to_string(), |next| next.into_owned());
    match access::check(site, &token, from).await {
        Ok(_) => {
            let mut reply = see_other(&next);
            set_cookie(&mut reply, site, &token, DAYS * 24 * 60 * 60);
            Ok(reply)
        }
        Err(problem) => Ok(web::sign_in(&problem, &next, &asked)),
    }
}

/// Takes the cookie back.
pub(super) fn sign_out(site: &Arc<Site>) -> Reply {
    let mut reply = see_other("/");
    set_cookie(&mut reply, site, "", 0);
    reply
}

fn set_cookie(reply: &mut Reply, site: &Site, token: &str, seconds: u64) {
    let secure = if site.encrypted { "; Secure" } else { "" };
    let cookie = format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        reply.headers_mut().insert(SET_COOKIE, cookie);
    }
}

/// Sends the browser on.
pub(super) fn see_other(place: &str) -> Reply {
    let mut reply = reply(StatusCode::SEE_OTHER, "", "");
    if let Ok(place) = HeaderValue::from_str(place) {
        reply.headers_mut().insert(LOCATION, place);
    }
    reply
}

/// Whether it is a path on this server and nothing that a browser would read as another server's name.
pub(crate) fn is_local(place: &str) -> bool {
    place.starts_with('/') && !place.starts_with("//") && !place.contains(['\\', '\r', '\n', '\t'])
}
