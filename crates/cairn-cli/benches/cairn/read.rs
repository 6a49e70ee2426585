//! Listing, trees and search.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cairn::{Cairn, Filter, Options, SearchQuery};
use serde_json::{Value, json};

use crate::peer::Peer;
use crate::server::{self, Server};
use crate::stats::{Sample, number};
use crate::text::{self, SESSIONS};
use crate::{Sizes, data, table};

/// (d).
pub fn run(sizes: &Sizes, peer: Option<&Peer>) -> Result<()> {
    let chain = number(sizes.chain as f64);
    let large = number(sizes.large as f64);
    table::title('d', &format!("a chain and a tree of {chain}, and search over {large}"));
    over_stdio(sizes, peer)?;
    through_the_library(sizes)
}

/// Both servers on files that hold the chain and nothing else.
fn over_stdio(sizes: &Sizes, peer: Option<&Peer>) -> Result<()> {
    let folder = data::scratch()?;
    let path = folder.path().join("cairn.db");
    data::copy(&data::chain(sizes.chain)?, &path)?;
    let (task, session) = (text::task_name(SESSIONS), text::session_name(SESSIONS));
    let peer = match peer {
        None => None,
        Some(peer) => {
            let copy = folder.path().join("peer.db");
            peer.chain(&path, &task, &copy)?;
            Some(peer.command(&copy))
        }
    };
    let has_peer = peer.is_some();
    let mut servers = vec![Server::start(server::ours(&path))?];
    servers.extend(peer.map(|command: Command| Server::start(command)).transpose()?);
    let [mut ours, mut theirs, mut tree] = <[Sample; 3]>::default();
    for _ in 0..sizes.searches.min(10) + 1 {
        for (server, times) in servers.iter_mut().zip([&mut ours, &mut theirs]) {
            times.add_ms(list(server, &task, sizes.chain)?);
        }
        tree.add_ms(servers[0].call("thought_tree", &json!({"session_id": session}))?.0);
    }
    let mut rows = vec![["list over stdio, cairn mcp".to_string(), ours.show(), String::new()]];
    if has_peer {
        rows.push(["list over stdio, Node".into(), theirs.show(), ours.over(&theirs).show()]);
    }
    rows.push(["tree over stdio, cairn mcp".into(), tree.show(), String::new()]);
    table::print(["", "ms", "cairn to Node"], &rows);
    if has_peer {
        table::at_most("list against Node", &ours.over(&theirs), 0.25, "");
        println!();
    }
    servers.into_iter().try_for_each(Server::stop)
}

/// Lists a chain, page by page.
fn list(server: &mut Server, task: &str, length: u64) -> Result<Duration> {
    let mut arguments = json!({"task_id": task});
    let mut total = Duration::ZERO;
    let mut count = 0;
    loop {
        let (taken, page) = server.call("thought_record_list", &arguments)?;
        total += taken;
        count += page["records"].as_array().map_or(0, Vec::len) as u64;
        match &page["next_cursor"] {
            Value::Null => break,
            cursor => arguments["cursor"] = cursor.clone(),
        }
    }
    ensure!(count == length, "{count} records instead of {length}");
    Ok(total)
}

fn through_the_library(sizes: &Sizes) -> Result<()> {
    let cairn = Options::new().create(false).open(data::large(sizes.large, sizes.chain)?)?;
    let (task, session) = (text::task_name(SESSIONS), text::session_name(SESSIONS));
    let [mut listing, mut tree] = <[Sample; 2]>::default();
    let searches = [
        ("a rare word", text::RARE, None),
        ("a rare word in one session", text::RARE, Some(text::RARE_SESSION)),
        ("a rare word in a session without it", text::RARE, Some(text::RARE_SESSION + 1)),
        ("a word in every record", text::COMMON, None),
        ("a word in every record, in one session", text::COMMON, Some(text::RARE_SESSION)),
    ];
    let mut times = vec![(Sample::default(), 0); searches.len()];
    for _ in 0..sizes.searches {
        listing.add_ms(list_all(&cairn, &task, sizes.chain)?);
        let started = Instant::now();
        let thoughts = cairn.tree(&session, false)?;
        let forest = cairn::core::tree::nest(thoughts.records);
        tree.add_ms(started.elapsed());
        ensure!(!forest.tree.is_empty(), "the tree is empty");
        for ((_, word, session), (times, hits)) in searches.iter().zip(&mut times) {
            let query = SearchQuery {
                query: word.to_string(),
                session_id: session.map(text::session_name),
                ..SearchQuery::default()
            };
            let started = Instant::now();
            *hits = cairn.search(&query)?.results.len();
            times.add_ms(started.elapsed());
        }
    }
    let mut rows = vec![
        ["list a chain, library, among all records".to_string(), listing.show(), String::new()],
        ["tree, library, among all records".into(), tree.show(), String::new()],
    ];
    for ((what, _, _), (times, hits)) in searches.iter().zip(&times) {
        rows.push([format!("search {what}"), times.show(), hits.to_string()]);
    }
    table::print(["", "ms", "hits"], &rows);
    let mut slowest = Sample::default();
    times.iter().for_each(|(times, _)| slowest.add(times.max()));
    let mut worst = Sample::default();
    worst.add(slowest.max());
    table::at_most("the slowest of all searches", &worst, 80.0, " ms");
    Ok(())
}

fn list_all(cairn: &Cairn, task: &str, length: u64) -> Result<Duration> {
    let started = Instant::now();
    let mut filter = Filter { task_id: Some(task.to_string()), ..Filter::default() };
    let mut count = 0;
    loop {
        let page = cairn.list(&filter)?;
        count += page.records.len() as u64;
        filter.cursor = page.next_cursor;
        if filter.cursor.is_none() {
            break;
        }
    }
    let taken = started.elapsed();
    ensure!(count == length, "{count} records instead of {length}");
    Ok(taken)
}
