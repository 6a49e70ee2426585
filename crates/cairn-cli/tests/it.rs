//! Tests of the program as a whole.

mod it {
    /// The worked example of the document on briefs.
    mod briefs_doc;
    /// The viewer, in a browser.
    mod browser;
    /// Every command, as it is typed.
    mod cli;
    /// Files, or schemas of a server.
    mod database;
    /// Help and reference say what there is.
    mod docs;
    mod examples;
    /// Writes, syncs and renames that fail.
    #[cfg(target_os = "linux")]
    mod faults;
    /// Honest work of many processes, about which verification says nothing.
    mod honest;
    mod http;
    mod mcp;
    mod mcp_clients;
    /// Several servers, and trouble with what they share.
    #[cfg(target_os = "linux")]
    mod postgres;
    mod processes;
    #[path = "../../../cairn-core/tests/seeded.rs"]
    #[allow(dead_code, reason = "shared with the tests of other crates, which use other parts of it")]
    mod seeded;
}
