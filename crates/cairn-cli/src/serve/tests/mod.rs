//! A server inside the test, where its tables, limits and tools can be reached.

mod agents;
mod hostile;
mod stop;
mod tokens;
mod who_may;

#[path = "../../../tests/it/http/agent.rs"]
#[allow(dead_code, reason = "shared with the tests of the program, which use other parts of it")]
mod agent;
#[path = "../../../tests/it/http/wire.rs"]
#[allow(dead_code, reason = "shared with the tests of the program, which use other parts of it")]
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cairn::{Cairn, NewToken, TokenScope};

use super::*;

/// A limit that no test reaches.
const NEVER: Duration = Duration::from_secs(24 * 3600);
/// A limit that is soon over. A server with one of these is spoken to only by those who are to be let go: on a busy machine
/// anybody can be too slow for it.
const SHORT: Duration = Duration::from_millis(400);

/// Limits that nobody reaches.
fn patient() -> Limits {
    Limits {
        connections: 100,
        connections_per_address: 100,
        first_words: NEVER,
        whole_body: NEVER,
        taking: NEVER,
        last_requests: NEVER,
    }
}

/// Serves until it is dropped.
struct Serving {
    _folder: tempfile::TempDir,
    addr: SocketAddr,
    site: Arc<Site>,
    runtime: Option<tokio::runtime::Runtime>,
    working: tokio::task::JoinHandle<anyhow::Result<()>>,
}

impl Serving {
    fn start(access: Access) -> Serving {
        let tools: ToolSets = "all,redact".parse().unwrap();
        Serving::with(access, Limits::default(), &tools.tools())
    }

    /// Without tokens, with all tools.
    fn limited(limits: Limits) -> Serving {
        let tools: ToolSets = "all".parse().unwrap();
        Serving::with(Access::Open, limits, &tools.tools())
    }

    fn with(access: Access, limits: Limits, tools: &[&'static Tool]) -> Serving {
        let folder = tempfile::tempdir().unwrap();
        let cairn = Cairn::open(folder.path().join("cairn.db")).unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let settings = Settings {
            addr: ([127, 0, 0, 1], 0).into(),
            hosts: Vec::new(),
            access,
            tls: None,
            tools: "all".parse().unwrap(),
            log_requests: false,
            limits,
        };
        let (addr, site, working) = runtime.block_on(async {
            let listener = listen::bind(settings.addr).unwrap();
            let addr = listener.local_addr().unwrap();
            let site = Arc::new(Site::new(cairn, settings, tools));
            let working = tokio::spawn(work(listener, None, site.clone()));
            (addr, site, working)
        });
        Serving { _folder: folder, addr, site, runtime: Some(runtime), working }
    }

    /// Asks it to end, and waits until it has.
    fn stop(mut self) {
        self.site.stopping.cancel();
        let runtime = self.runtime.take().unwrap();
        let ended = async { tokio::time::timeout(Duration::from_secs(60), &mut self.working).await };
        runtime.block_on(ended).expect("the server does not end").unwrap().unwrap();
        runtime.shutdown_background();
    }

    /// A new token.
    fn token(&self, scope: TokenScope, agent: Option<&str>) -> String {
        let name = scope.as_str().to_string();
        let new = NewToken { name, scope, agent_id: agent.map(ToString::to_string) };
        self.site.cairn.token_add(new).unwrap().token
    }

    /// A token that was good once.
    fn revoked_token(&self) -> String {
        let new = NewToken { name: "revoked".to_string(), scope: TokenScope::Admin, agent_id: None };
        let added = self.site.cairn.token_add(new).unwrap();
        self.site.cairn.token_revoke(&added.info.id).unwrap();
        added.token
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.site.stopping.cancel();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Has the form of a token.
const NO_TOKEN: &str = "cairn_0123456789ab_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
