//! `cairn serve`: agents over HTTP, and the viewer.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::Outcome;
use crate::args::{App, ReadDb};
use crate::error::CliError;
use crate::serve::{Access, Limits, Settings, Tls};
use crate::state::SignedElsewhere;
use crate::term::visible;
use crate::witness::Publisher;

/// Serve agents over HTTP, and pages to read what they recorded
///
/// The viewer is at `/`, MCP at `/mcp`. On this machine's loopback nobody needs a token; on any other address
/// everyone does (`cairn token add`).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen on this address
    #[arg(
        long,
        value_name = "IP:PORT",
        default_value = "127.0.0.1:7411",
        env = "CAIRN_ADDR",
        hide_env_values = true,
        value_parser = address
    )]
    addr: SocketAddr,
    /// Answer to this name too, as a proxy or DNS has it; may be given more than once
    #[arg(long, value_name = "NAME", value_parser = host)]
    allow_host: Vec<String>,
    /// Ask for a token on loopback too, as behind a proxy
    #[arg(long)]
    require_token: bool,
    /// Let everyone who can reach the address do everything, without a token
    #[arg(long, conflicts_with = "require_token")]
    insecure: bool,
    /// Encrypt with this certificate (PEM), followed by those that vouch for it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Offer only these sets of tools, separated by commas: trail, snapshot, memory, proof, redact, or all (but redact)
    #[arg(long, value_name = "SETS", default_value = "all")]
    tools: String,
    #[command(flatten)]
    read: ReadDb,
    /// Take at most so many connections at once from one address, of 4096 in all. A proxy in front counts as one address
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections_per_address, value_parser = connections)]
    connections_per_address: usize,
    /// Write no line for each request
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let tools = args.tools.parse().map_err(|error| CliError::usage(format!("--tools: {error}")))?;
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => Some(Tls::read(cert, key)?),
        _ => None,
    };
    let cairn = app.serve(&args.read)?;
    let access = access(args, &cairn)?;
    let beyond = !args.addr.ip().is_loopback();
    if beyond && tls.is_none() && access == Access::Tokens {
        app.ui.remark("note: connections are not encrypted here; put a proxy in front that encrypts, or give --tls-cert");
    }
    if args.insecure {
        app.ui.remark("warning: --insecure: whoever can reach this address may read and record everything");
    }
    if let Some(elsewhere) = SignedElsewhere::find(&cairn)? {
        app.ui.remark(&format!("warning: {}\nhint: {}", elsewhere.message(), elsewhere.advice()));
    }
    let settings = Settings {
        addr: args.addr,
        hosts: args.allow_host.clone(),
        access,
        tls,
        tools,
        log_requests: !args.quiet,
        limits: Limits { connections_per_address: args.connections_per_address, ..Limits::default() },
    };
    let publisher = Publisher::start(cairn.clone());
    let served = serve(cairn, settings, app);
    publisher.stop();
    served.map(|()| Outcome::Fine)
}

/// Serves a database to whoever is on this machine.
pub(super) fn on_this_machine(cairn: cairn::Cairn, addr: SocketAddr, app: &App) -> Result<(), CliError> {
    let tools = "all".parse().map_err(|error| CliError::usage(format!("--tools: {error}")))?;
    let settings = Settings {
        addr,
        hosts: Vec::new(),
        access: Access::Open,
        tls: None,
        tools,
        log_requests: false,
        limits: Limits::default(),
    };
    serve(cairn, settings, app)
}

fn serve(cairn: cairn::Cairn, settings: Settings, app: &App) -> Result<(), CliError> {
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    // The same words as `verify`, `doctor` and `record` use.
    let standing = cairn.standing();
    if !standing.is_sound() {
        app.ui.remark(&visible(&standing.words()));
    }
    cairn.copies().iter().for_each(|copy| app.ui.remark(&visible(&copy.words())));
    let ready = |addr: SocketAddr| {
        let host = if addr.ip().is_unspecified() { loopback(addr.ip()) } else { addr.ip() };
        let addr = SocketAddr::new(host, addr.port());
        app.ui.remark(&format!("viewer  {scheme}://{addr}/\nMCP     {scheme}://{addr}/mcp\nend with Ctrl-C"));
    };
    crate::serve::run(cairn, settings, ready).map_err(|error| {
        let cause = error.root_cause().downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let failed = CliError::failed(format!("{error:#}"));
        match cause {
            Some(std::io::ErrorKind::AddrInUse) => failed.hint(
                "another program listens there, perhaps `cairn serve`; name another port with `--addr`",
            ),
            _ => failed,
        }
    })
}

/// Reads an address. `localhost` may be more than one, so it is the first that everyone has.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    named.as_deref().unwrap_or(text).parse().map_err(|_| {
        "must be an IP address and a port, such as 127.0.0.1:7411, 0.0.0.0:7411 or [::1]:7411".to_string()
    })
}

/// Reads a number of connections.
fn connections(text: &str) -> Result<usize, String> {
    let most = Limits::default().connections;
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("must be a number from 1 to {most}")),
    }
}

/// Reads a name that requests may have in their `Host` header.
fn host(text: &str) -> Result<String, String> {
    let is_address = text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let is_name =
        !text.is_empty() && !text.contains([':', '/', '@', '*']) && !text.contains(char::is_whitespace);
    match is_address || is_name {
        true => Ok(text.to_string()),
        false => Err("must be a name or an address alone, without scheme, port and path".to_string()),
    }
}

fn loopback(ip: IpAddr) -> IpAddr {
    if ip.is_ipv4() { [127, 0, 0, 1].into() } else { IpAddr::V6(std::net::Ipv6Addr::LOCALHOST) }
}

/// Whether tokens are asked for. Where they are, there must be one: otherwise nobody could get in.
fn access(args: &Args, cairn: &cairn::Cairn) -> Result<Access, CliError> {
    let needed = args.require_token || !args.addr.ip().is_loopback();
    if args.insecure || !needed {
        return Ok(Access::Open);
    }
    if cairn.tokens()?.iter().all(|token| token.revoked_at.is_some()) {
        let why = if args.require_token { "--require-token" } else { "an address beyond loopback" };
        return Err(CliError::refused(format!("{why} needs a token, and there is none yet"))
            .hint("`cairn token add NAME --scope write` makes one and shows it once"));
    }
    Ok(Access::Tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_or_refused_with_one_that_would_do() {
        assert_eq!(address("localhost:7"), address("127.0.0.1:7"));
        assert!(address("[::]:7").is_ok());
        for wrong in ["", ":7", "7", "127.0.0.1", "localhost", "elsewhere:7", "::1:7", "127.0.0.1:70000"] {
            assert!(address(wrong).unwrap_err().contains("127.0.0.1:7411"), "{wrong}");
        }
    }

    #[test]
    fn a_name_that_no_request_can_have_is_refused() {
        for name in ["cairn.example", "192.0.2.1", "::1", "[2001:db8::1]", "host_1"] {
            assert!(host(name).is_ok(), "{name}");
        }
        for name in ["", "cairn.example:7411", "https://cairn.example", "a b", "*.example", "192.0.2.1:7411"]
        {
            assert!(host(name).is_err(), "{name}");
        }
    }
}
