//! A server inside the test, where its tables, limits and tools can be reached.

mod agents;
mod hostile;
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

use cairn::{Cairn, NewToken, TokenScope};

use super::*;

/// Serves until it is dropped.
struct Serving {
    _folder: tempfile::TempDir,
    addr: SocketAddr,
    site: Arc<Site>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Serving {
    fn start(access: Access) -> Serving {
        let tools: ToolSets = "all,redact".parse().unwrap();
        Serving::with(access, Limits::default(), &tools.tools())
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
        let (addr, site) = runtime.block_on(async {
            let listener = listen::bind(settings.addr).unwrap();
            let addr = listener.local_addr().unwrap();
            let site = Arc::new(Site::new(cairn, settings, tools));
            tokio::spawn(work(listener, None, site.clone()));
            (addr, site)
        });
        Serving { _folder: folder, addr, site, runtime: Some(runtime) }
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
