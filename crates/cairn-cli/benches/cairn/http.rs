//! Calls over HTTP: how many, how long each takes while others read, and what those who only watch cost.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use cairn::{Filter, Scope};
use serde_json::{Value, json};

use crate::peer::Peer;
use crate::stats::{Sample, number};
use crate::text::{COMMON, Draft};
use crate::{Sizes, data, machine, table};

const RECORDING: usize = 64;
const READING_TREES: usize = 8;
const SEARCHING: usize = 2;

/// (j).
pub fn run(sizes: &Sizes, peer: Option<&Peer>) -> Result<()> {
    table::title('j', "thought_record over HTTP by 64 clients, against the same Node server over HTTP");
    let [mut ours, mut theirs] = <[Sample; 2]>::default();
    let [mut our_p99, mut their_p99] = <[Sample; 2]>::default();
    for _ in 0..sizes.rounds {
        let folder = data::scratch()?;
        record(our_command(&folder.path().join("cairn.db")), sizes.http[0], &mut ours, &mut our_p99)?;
        if let Some(peer) = peer {
            let command = peer.over_http(&folder.path().join("peer.db"));
            record(command, sizes.http[0], &mut theirs, &mut their_p99)?;
        }
    }
    let row = |name: &str, rate: &Sample, p99: &Sample| [name.to_string(), rate.show(), p99.show()];
    let mut rows = vec![row("cairn serve", &ours, &our_p99)];
    if peer.is_some() {
        rows.push(row("Node", &theirs, &their_p99));
        rows.push(row("ratio", &ours.over(&theirs), &our_p99.over(&their_p99)));
    }
    table::print(["", "requests/s", "p99 ms"], &rows);
    if peer.is_some() {
        table::at_least("requests against Node", &ours.over(&theirs), 3.0);
    }
    among_readers(sizes)?;
    watchers(sizes)
}

/// `cairn serve` on a database.
fn our_command(database: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.args(["serve", "--addr", "127.0.0.1:0", "--quiet"]);
    command.env("CAIRN_DB", database).env("CAIRN_STATE", database.with_extension("state"));
    command
}

/// A server that was started.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(mut command: Command) -> Result<Serving> {
        let mut child = command.stderr(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let mut said = BufReader::new(child.stderr.take().context("no standard error")?);
        let mut line = String::new();
        let address = loop {
            line.clear();
            ensure!(said.read_line(&mut line)? > 0, "the server ended before it said its address");
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.split('/').next().unwrap_or_default().to_string();
            }
        };
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Ok(Serving { child, address })
    }

    fn memory(&self) -> Result<f64> {
        machine::memory(&self.child.id().to_string(), "VmRSS")
    }

    /// Asks it to end, and waits until it has.
    fn stop(mut self) -> Result<()> {
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        self.child.wait()?;
        Ok(())
    }
}

/// A connection that costs next to nothing itself, and the same for every server.
struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
    host: String,
}

impl Connection {
    fn open(address: &str) -> Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Connection { stream, read: Vec::new(), host: address.to_string() })
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Vec<u8>> {
        let params = json!({ "name": tool, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, \
             text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        self.stream.write_all((head + &body).as_bytes())?;
        let answer = self.answer()?;
        let has = |part: &str| answer.windows(part.len()).any(|at| at == part.as_bytes());
        if !has("\"result\"") || has("\"isError\":true") {
            bail!("the server answered: {}", String::from_utf8_lossy(&answer));
        }
        Ok(answer)
    }

    /// The body of one answer, whole or in chunks.
    fn answer(&mut self) -> Result<Vec<u8>> {
        let head = loop {
            if let Some(end) = find(&self.read, b"\r\n\r\n") {
                break self.read.drain(..end + 4).collect::<Vec<u8>>();
            }
            self.more()?;
        };
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        if let Some(length) = head.lines().find_map(|line| line.strip_prefix("content-length:")) {
            return self.take(length.trim().parse()?);
        }
        let mut body = Vec::new();
        loop {
            let end = loop {
                match find(&self.read, b"\r\n") {
                    Some(end) => break end,
                    None => self.more()?,
                }
            };
            let size = usize::from_str_radix(std::str::from_utf8(&self.take(end + 2)?)?.trim(), 16)?;
            body.extend_from_slice(&self.take(size)?);
            self.take(2)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.read.len() < length {
            self.more()?;
        }
        Ok(self.read.drain(..length).collect())
    }

    fn more(&mut self) -> Result<()> {
        let mut chunk = [0; 1 << 15];
        let count = self.stream.read(&mut chunk)?;
        ensure!(count > 0, "the server closed the connection");
        self.read.extend_from_slice(&chunk[..count]);
        Ok(())
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|at| at == part)
}

/// Sessions that the clients record in, so that a tree has some hundreds of thoughts in the end.
const SESSIONS: u64 = 500;

fn session(number: u64) -> String {
    format!("session-{}", number % SESSIONS)
}

fn arguments(number: u64) -> Value {
    let draft = Draft::new(number);
    json!({ "type": draft.kind, "task_id": session(number), "agent_id": "bench", "content": draft.content })
}

/// Has clients record for some seconds; returns how many did and how long each took, in milliseconds.
fn clients(address: &str, seconds: u64) -> Result<(u64, Sample)> {
    let (over, numbers) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let client = || -> Result<Vec<f64>> {
            let mut connection = Connection::open(address)?;
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let arguments = arguments(numbers.fetch_add(1, Ordering::Relaxed));
                let began = Instant::now();
                connection.call("thought_record", &arguments)?;
                times.push(began.elapsed().as_secs_f64() * 1e3);
            }
            Ok(times)
        };
        let clients: Vec<_> = (0..RECORDING).map(|_| scope.spawn(client)).collect();
        std::thread::sleep(Duration::from_secs(seconds));
        over.store(true, Ordering::Relaxed);
        let (mut count, mut sample) = (0, Sample::default());
        for client in clients {
            for time in client.join().expect("a client does not panic")? {
                (count, _) = (count + 1, sample.add(time));
            }
        }
        Ok((count, sample))
    })
}

fn record(command: Command, seconds: u64, rate: &mut Sample, p99: &mut Sample) -> Result<()> {
    let server = Serving::start(command)?;
    // Node compiles what is called often; it should have done so before the clock starts.
    clients(&server.address, 1)?;
    let (count, times) = clients(&server.address, seconds)?;
    rate.add(count as f64 / seconds as f64);
    p99.add(times.quantile(0.99));
    server.stop()
}

/// Clients that record while others read trees and search.
fn among_readers(sizes: &Sizes) -> Result<()> {
    let folder = data::scratch()?;
    let path = folder.path().join("cairn.db");
    let server = Serving::start(our_command(&path))?;
    let over = AtomicBool::new(false);
    let reader = |tool: &'static str, arguments: &dyn Fn(u64) -> Value| -> Result<Sample> {
        let mut connection = Connection::open(&server.address)?;
        let mut times = Sample::default();
        for number in 0.. {
            if over.load(Ordering::Relaxed) {
                break;
            }
            let began = Instant::now();
            connection.call(tool, &arguments(number))?;
            times.add_ms(began.elapsed());
            // People and agents look, and then do something else.
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(times)
    };
    let trees = || reader("thought_tree", &|number| json!({ "session_id": session(number) }));
    let searches = || reader("thought_search", &|_| json!({ "query": COMMON }));
    let (recorded, times, [tree_p99, search_p99]) = std::thread::scope(|scope| -> Result<_> {
        let trees: Vec<_> = (0..READING_TREES).map(|_| scope.spawn(trees)).collect();
        let searches: Vec<_> = (0..SEARCHING).map(|_| scope.spawn(searches)).collect();
        let recorded = clients(&server.address, sizes.http[1]);
        over.store(true, Ordering::Relaxed);
        let slowest = |readers: Vec<std::thread::ScopedJoinHandle<'_, Result<Sample>>>| -> Result<Sample> {
            let mut all = Sample::default();
            for reader in readers {
                all.add(reader.join().expect("a reader does not panic")?.quantile(0.99));
            }
            Ok(all)
        };
        let readers = [slowest(trees)?, slowest(searches)?];
        let (count, times) = recorded?;
        Ok((count, times, readers))
    })?;
    server.stop()?;
    let cairn = cairn::Cairn::open(&path)?;
    let stored = cairn.status()?.thoughts;
    ensure!(stored == recorded, "{recorded} were acknowledged, {stored} are there");
    ensure!(cairn.verify(&Scope::All)?.valid(), "the log does not verify");
    ensure!(!cairn.list(&Filter::default())?.records.is_empty(), "nothing was recorded");
    println!(
        "\n  {} s with {READING_TREES} who read trees and {SEARCHING} who search: no error, {} recorded ({}/s), all of \
         them there, the log verifies",
        sizes.http[1],
        number(recorded as f64),
        number(recorded as f64 / sizes.http[1] as f64)
    );
    let row = |name: &str, sample: &Sample| {
        [name.to_string(), number(sample.median()), number(sample.quantile(0.99)), number(sample.max())]
    };
    table::print(["", "p50 ms", "p99 ms", "slowest ms"], &[row("thought_record", &times)]);
    println!("  p99 of each reader: trees {} ms, searches {} ms", tree_p99.show(), search_p99.show());
    Ok(())
}

/// What browsers cost that have a page open.
fn watchers(sizes: &Sizes) -> Result<()> {
    let folder = data::scratch()?;
    let server = Serving::start(our_command(&folder.path().join("cairn.db")))?;
    Connection::open(&server.address)?.call("thought_record", &arguments(0))?;
    let before = server.memory()?;
    let mut open = Vec::new();
    for _ in 0..sizes.watchers {
        let mut connection = Connection::open(&server.address)?;
        let request =
            format!("GET /events HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\n\r\n", connection.host);
        connection.stream.write_all(request.as_bytes())?;
        while find(&connection.read, b"event: open").is_none() {
            connection.more()?;
        }
        open.push(connection);
    }
    let mut cost = Sample::default();
    cost.add(server.memory()? - before);
    table::at_most(
        &format!("megabytes for {} who watch", number(sizes.watchers as f64)),
        &cost,
        100.0,
        " MB",
    );
    drop(open);
    server.stop()
}
