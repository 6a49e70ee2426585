//! Tests of the program as a whole.

mod it {
    /// Every command, as it is typed.
    mod cli;
    /// Help and reference say what there is.
    mod docs;
    mod mcp;
    mod mcp_clients;
    mod processes;
}
