//! A site over a database of its own, for the tests of pages.

use std::collections::BTreeSet;
use std::sync::Arc;

use cairn::{Cairn, Options, Report, TokenScope};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::error::CliError;
use crate::mcp::ToolSets;
use crate::serve::{Access, Answers, Asked, Found, Limits, Settings, Site, Who, find};

/// A new database and the site that shows it. Nothing listens, and nothing is verified unless a test does it.
pub(crate) struct TestSite {
    site: Arc<Site>,
    /// What a site starts needs a runtime, although no page does.
    _runtime: Runtime,
    /// Beside the database; roadmaps are expected in `roadmaps` below it.
    pub(crate) folder: TempDir,
}

impl TestSite {
    pub(crate) fn new() -> TestSite {
        TestSite::with(Options::new().automatic_checkpoints(false))
    }

    pub(crate) fn with(options: Options) -> TestSite {
        let folder = tempfile::tempdir().expect("a folder for the database");
        let cairn = options.open(folder.path().join("cairn.db")).expect("a new database");
        TestSite::over(cairn, folder)
    }

    /// The site of a database that is open already.
    pub(crate) fn over(cairn: Cairn, folder: TempDir) -> TestSite {
        let settings = Settings {
            addr: ([127, 0, 0, 1], 0).into(),
            hosts: Vec::new(),
            access: Access::Open,
            tls: None,
            tools: ToolSets::default(),
            log_requests: false,
            limits: Limits::default(),
        };
        let runtime = Runtime::new().expect("a runtime");
        let site = {
            let _entered = runtime.enter();
            let tools = settings.tools.tools();
            Arc::new(Site::new(cairn, settings, &tools))
        };
        TestSite { site, _runtime: runtime, folder }
    }

    pub(crate) fn cairn(&self) -> &Cairn {
        &self.site.cairn
    }

    /// Verifies the whole log, as the server does now and then.
    pub(crate) fn verify(&self) {
        self.verify_and(|_| {});
    }

    /// The same, with a report that finds what a test wants found.
    pub(crate) fn verify_and(&self, change: impl FnOnce(&mut Report)) {
        self.site.integrity.verify_now(&self.site.cairn, change);
    }

    /// The whole page at an address, as a browser gets it.
    pub(crate) fn page(&self, address: &str) -> Result<String, CliError> {
        let (page, asked) = self.asked(address);
        let shown = (page.html)(&asked)?;
        Ok(super::layout::document(&shown.title, &shown.main, &shown.live, &asked).into_string())
    }

    /// What its JSON twin says. The address is that of the page.
    pub(crate) fn twin(&self, address: &str) -> Result<Value, CliError> {
        let (page, asked) = self.asked(address);
        let twin: Value = serde_json::from_slice(&(page.json)(&asked)?).expect("a twin is JSON");
        let described: BTreeSet<&str> = page.data.iter().copied().collect();
        let told: BTreeSet<&str> =
            twin.as_object().expect("a twin is an object").keys().map(String::as_str).collect();
        assert_eq!(told, described, "{address}: its description names other members");
        Ok(twin)
    }

    fn asked(&self, address: &str) -> (&'static crate::serve::PageOf, Asked) {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let Found::Route { route, params, twin: false } = find(&hyper::Method::GET, path) else {
            panic!("{path} is no page")
        };
        let Answers::Page(page) = &route.answers else { panic!("{path} is no page") };
        let query = form_urlencoded::parse(query.as_bytes());
        let asked = Asked {
            site: self.site.clone(),
            who: Who { scope: TokenScope::Read, token: None },
            id: self.site.log.next_request(),
            host: "localhost:7411".to_string(),
            path: path.to_string(),
            params,
            query: query.map(|(name, value)| (name.into_owned(), value.into_owned())).collect(),
        };
        (page, asked)
    }
}

#[cfg(test)]
mod tests {
    use cairn::{NewThought, ThoughtType};

    use super::*;

    #[test]
    fn a_page_and_its_twin_are_made_as_they_are_served() {
        let site = TestSite::new();
        site.cairn().record(NewThought::new(ThoughtType::Plan, "x").session("<s>").agent("a")).unwrap();
        assert!(site.page("/").unwrap().contains("&lt;s&gt;"));
        assert_eq!(site.twin("/").unwrap()["sessions"][0]["session_id"], "<s>");
        assert!(site.folder.path().join("cairn.db").exists());
    }
}
