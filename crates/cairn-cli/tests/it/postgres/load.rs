//! Agents that record without end, whatever happens to what they record on, and remember what they were told.

use std::collections::{HashMap, HashSet};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cairn::{Cairn, Filter, KeyFolder, Options, Scope, Sha};
use serde_json::{Value, json};

use crate::it::http::agent::modern;
use crate::it::http::wire::{Wire, get};

const PATIENCE: Duration = Duration::from_secs(60);
/// Tasks that are written to now and then; half of what is recorded goes to one more.
const COLD: u64 = 1000;

/// A `cairn serve` that keeps its address when it is started again.
pub struct Served {
    pub addr: SocketAddr,
    child: Child,
}

impl Served {
    pub fn start(database: &str, state: &Path) -> Served {
        // Free a moment ago, and the system does not give it to anyone else soon.
        let addr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Served { addr, child: Served::spawn(addr, database, state) }.ready()
    }

    fn spawn(addr: SocketAddr, database: &str, state: &Path) -> Child {
        let log = std::fs::File::options().create(true).append(true).open(state.join("said")).unwrap();
        Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(["serve", "--addr", &addr.to_string()])
            .env("CAIRN_DB", database)
            .env("CAIRN_STATE", state)
            .env("XDG_DATA_HOME", state)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    fn ready(self) -> Served {
        let began = Instant::now();
        while Wire::try_open(self.addr).is_err() || get(self.addr, "/healthz").status != 200 {
            assert!(began.elapsed() < PATIENCE, "the server does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        self
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Killed in mid-work, and started again.
    pub fn kill_and_restart(&mut self, database: &str, state: &Path) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = Served::spawn(self.addr, database, state);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What agents were told.
#[derive(Default)]
pub struct Told {
    /// Ids and contents that were acknowledged.
    pub acknowledged: HashMap<String, String>,
    /// Contents of which it was said that nothing was written, and which were not sent again.
    pub refused: HashSet<String>,
    /// What else was said, and how often.
    pub errors: HashMap<String, u64>,
}

/// Agents at work.
pub struct Load {
    agents: Vec<JoinHandle<()>>,
    told: Arc<Mutex<Told>>,
    done: Arc<AtomicBool>,
    /// Acknowledged so far, by server.
    counts: Vec<Arc<AtomicU64>>,
}

impl Load {
    /// So many agents on each server.
    pub fn start(servers: &[SocketAddr], agents: usize) -> Load {
        let (told, done): (Arc<Mutex<Told>>, Arc<AtomicBool>) = Default::default();
        let counts: Vec<Arc<AtomicU64>> = servers.iter().map(|_| Arc::default()).collect();
        let start = |number: usize| {
            let place = number % servers.len();
            let agent = LoadAgent {
                number,
                addr: servers[place],
                told: told.clone(),
                done: done.clone(),
                count: counts[place].clone(),
            };
            std::thread::spawn(move || agent.work())
        };
        Load { agents: (0..agents * servers.len()).map(start).collect(), told, done, counts }
    }

    /// How many were acknowledged by each server so far.
    pub fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// Waits until each server has acknowledged something new; returns how long the last of them took.
    pub fn await_all(&self) -> Duration {
        self.await_more(1)
    }

    /// The same, for so much that is new.
    pub fn await_more(&self, more: u64) -> Duration {
        let (began, before) = (Instant::now(), self.counts());
        while self.counts().iter().zip(&before).any(|(now, before)| *now < before + more) {
            assert!(began.elapsed() < PATIENCE, "nothing is recorded any more: {:?}", self.errors());
            std::thread::sleep(Duration::from_millis(5));
        }
        began.elapsed()
    }

    fn errors(&self) -> HashMap<String, u64> {
        self.told.lock().unwrap().errors.clone()
    }

    /// Ends the agents, each after its last answer.
    pub fn stop(self) -> Told {
        self.done.store(true, Ordering::Relaxed);
        for agent in self.agents {
            agent.join().unwrap();
        }
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

struct LoadAgent {
    number: usize,
    addr: SocketAddr,
    told: Arc<Mutex<Told>>,
    done: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
}

/// What became of one call.
enum Outcome {
    Done {
        id: String,
    },
    /// Nothing was written.
    Refused(String),
    /// Nobody can tell.
    Unknown(String),
}

impl LoadAgent {
    /// Every second agent sends a key with each thought, and sends it again until it is acknowledged. The others send
    /// each once.
    fn work(self) {
        let mut wire = None;
        let keyed = (self.number / 4).is_multiple_of(2);
        for round in 0u64.. {
            let content = format!("agent {} round {round}", self.number);
            let hot = (self.number as u64 + round).is_multiple_of(2);
            let cold = (self.number as u64 * 7919 + round * 104_729) % COLD;
            let task = if hot { "hot".to_string() } else { format!("cold {cold}") };
            let mut arguments = json!({ "type": "analysis", "content": content, "task_id": task,
                "session_id": format!("agent {}", self.number) });
            if keyed {
                arguments["idempotency_key"] = json!(content);
            }
            while !self.send(&mut wire, &arguments, &content, keyed) {
                if self.done.load(Ordering::Relaxed) {
                    return;
                }
            }
            if self.done.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Sends a thought and notes what was said; false if it is to be sent again.
    fn send(&self, wire: &mut Option<Wire>, arguments: &Value, content: &str, keyed: bool) -> bool {
        let outcome = self.call(wire, arguments);
        let mut told = self.told.lock().unwrap();
        match outcome {
            Outcome::Done { id } => {
                self.count.fetch_add(1, Ordering::Relaxed);
                told.acknowledged.insert(id, content.to_string());
                return true;
            }
            Outcome::Refused(why) => {
                *told.errors.entry(why).or_default() += 1;
                if !keyed {
                    told.refused.insert(content.to_string());
                }
            }
            Outcome::Unknown(why) => *told.errors.entry(why).or_default() += 1,
        }
        drop(told);
        std::thread::sleep(Duration::from_millis(100));
        !keyed
    }

    fn call(&self, wire: &mut Option<Wire>, arguments: &Value) -> Outcome {
        let open = match wire.take() {
            Some(open) => Ok(open),
            None => Wire::try_open(self.addr),
        };
        let Ok(mut open) = open else { return Outcome::Refused("(no server)".to_string()) };
        let params = json!({ "name": "thought_record", "arguments": arguments });
        let (headers, body) = modern(1, "tools/call", params);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = open.request("POST", "/mcp", &headers, body.as_bytes()).and_then(|()| open.answer());
        let Ok(answer) = answer else { return Outcome::Unknown("(server gone)".to_string()) };
        assert_eq!(answer.status, 200, "{}", answer.whole());
        *wire = Some(open);
        let envelope = answer.json()["result"]["structuredContent"].take();
        if envelope["ok"] == true {
            return Outcome::Done { id: envelope["data"]["id"].as_str().unwrap().to_string() };
        }
        let told = |field: &str| envelope["error"][field].as_str().unwrap().to_string();
        let why = format!("{}: {}", told("code"), told("message"));
        assert!(!why.starts_with("INVALID") && !why.starts_with("CONFLICT"), "{why}");
        match told("code") == "BUSY" {
            true => Outcome::Refused(why),
            false => Outcome::Unknown(why),
        }
    }
}

/// Holds what is in the log against what the agents were told; returns how many thoughts there are.
pub fn check(database: &str, state: &Path, told: &Told) -> usize {
    let options = Options::new().signer(KeyFolder::new(state.join("keys"))).heads(state.join("heads"));
    let cairn: Cairn = options.open(database).unwrap();
    let (mut stored, mut contents) = (HashMap::new(), HashSet::new());
    let mut heads: HashMap<String, Sha> = HashMap::new();
    let mut filter = Filter::default();
    loop {
        let page = cairn.list(&filter).unwrap();
        for thought in page.records {
            let head = heads.entry(thought.task_id.to_string()).or_insert(Sha::ZERO);
            assert_eq!(thought.prev_hash, *head, "task {} forks at {}", thought.task_id, thought.id);
            *head = thought.hash;
            assert!(contents.insert(thought.content.clone()), "recorded twice: {}", thought.content);
            stored.insert(thought.id.to_string(), thought.content);
        }
        filter.cursor = page.next_cursor;
        if filter.cursor.is_none() {
            break;
        }
    }
    for (id, content) in &told.acknowledged {
        assert_eq!(stored.get(id), Some(content), "acknowledged, and lost");
    }
    for content in &told.refused {
        assert!(!contents.contains(content), "it was said that nothing was written, and it was: {content}");
    }
    let report = cairn.verify(&Scope::All).unwrap();
    assert!(report.valid(), "{:#?}", report.findings);
    stored.len()
}

/// A table of what was told, for whoever runs a test by hand.
pub fn show(told: &Told) -> String {
    let mut errors: Vec<String> =
        told.errors.iter().map(|(why, count)| format!("  {count} × {why}")).collect();
    errors.sort();
    format!("{} acknowledged\n{}", told.acknowledged.len(), errors.join("\n"))
}
