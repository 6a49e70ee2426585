//! A PostgreSQL server that is far away, and logs that change behind a writer's back.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use cairn::{Cairn, NewThought, Options, Scope, ThoughtType};
use tokio_postgres::config::{Config, Host};

use crate::harness::{TestCairn, copy, on_postgres, server};

/// How long every answer of a server is on its way.
#[derive(Clone)]
struct Away(Arc<AtomicU64>);

impl Away {
    fn new(millis: u64) -> Away {
        Away(Arc::new(AtomicU64::new(millis)))
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn set(&self, millis: u64) {
        self.0.store(millis, Ordering::SeqCst);
    }
}

/// Passes bytes on until one end has gone; `away` after they came, however many came meanwhile.
fn pass(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static, away: Away) {
    let (arrived, due) = channel::<(Instant, Vec<u8>)>();
    spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if arrived.send((Instant::now() + away.now(), buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    spawn(move || {
        for (at, bytes) in due {
            sleep(at.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
    });
}

/// The address of a database by a way on which every answer takes that long.
fn far(database: &str, away: &Away) -> String {
    let config: Config = server().unwrap().parse().unwrap();
    let host = config.get_hosts()[0].clone();
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap();
    let away = away.clone();
    spawn(move || {
        for client in listener.incoming() {
            let client: TcpStream = client.unwrap();
            client.set_nodelay(true).unwrap();
            let back = client.try_clone().unwrap();
            match &host {
                Host::Tcp(name) => {
                    let stream = TcpStream::connect((name.as_str(), port)).unwrap();
                    stream.set_nodelay(true).unwrap();
                    pass(client, stream.try_clone().unwrap(), Away::new(0));
                    pass(stream, back, away.clone());
                }
                Host::Unix(folder) => {
                    let stream = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).unwrap();
                    pass(client, stream.try_clone().unwrap(), Away::new(0));
                    pass(stream, back, away.clone());
                }
            }
        }
    });
    let (_, schema) = database.split_once("?schema=").unwrap();
    let user = config.get_user().unwrap_or("postgres");
    let password = config.get_password().map(|password| format!(":{}", String::from_utf8_lossy(password)));
    let database = config.get_dbname().unwrap_or(user);
    format!(
        "postgres://{user}{}@{here}/{database}?schema={schema}&sslmode=disable",
        password.unwrap_or_default()
    )
}

fn draft(task: &str) -> NewThought {
    NewThought::new(ThoughtType::Analysis, "from afar").task(task).agent("a")
}

/// The fewest round trips that one of several attempts took: a busy machine takes longer, and never less. The busier it is,
/// the farther away the server is moved, so that what the machine does meanwhile counts for less. Once it took no more than
/// `expected`, that is it.
fn trips(away: &Away, expected: u32, mut attempt: impl FnMut(usize)) -> u32 {
    let mut fewest = u32::MAX;
    for round in 0..24 {
        away.set(60 << (round / 8 * 2));
        let started = Instant::now();
        attempt(round);
        fewest = fewest.min((started.elapsed().as_secs_f64() / away.now().as_secs_f64()) as u32);
        if fewest <= expected {
            break;
        }
    }
    fewest
}

#[test]
fn an_append_takes_one_round_trip_alone_and_two_whoever_wrote_before_and_whatever_it_names() {
    if !on_postgres() {
        eprintln!("PostgreSQL's own: a file is never far away");
        return;
    }
    let db = TestCairn::real();
    let options = || Options::new().automatic_checkpoints(false);
    let near: Cairn = options().open(db.path()).unwrap();
    let away = Away::new(60);
    let here: Cairn = options().open(far(db.path().to_str().unwrap(), &away)).unwrap();
    // Statements are prepared when they are first used.
    let mut parent = near.record(draft("near")).unwrap().id.to_string();
    let about = |round: usize, parent: &str| NewThought {
        parent_id: Some(parent.to_string()),
        ..draft("near").idempotency_key(format!("k{round}"))
    };
    here.record(draft("far")).unwrap();
    here.record(about(100, &parent)).unwrap();

    assert_eq!(trips(&away, 1, |_| drop(here.record(draft("far")).unwrap())), 1, "alone");
    assert_eq!(
        trips(&away, 2, |round| drop(here.record(draft(&format!("new {round}"))).unwrap())),
        2,
        "a new label"
    );
    assert_eq!(trips(&away, 2, |round| drop(here.record(about(round, &parent)).unwrap())), 2, "a key");
    let after_another = trips(&away, 2, |round| {
        // This one is quick: what is measured is the other.
        parent = near.record(draft("near")).unwrap().id.to_string();
        here.record(about(200 + round, &parent)).unwrap();
    });
    assert_eq!(after_another, 2, "after another server wrote, on what it wrote");
    let links = trips(&away, 2, |_| {
        let decision = || NewThought { kind: ThoughtType::Decision, ..draft("near") };
        let [old, option] = [near.record(decision()).unwrap(), near.record(draft("near")).unwrap()];
        here.record(decision().supersedes(&old.id).rejects(&old.id).rejects(&option.id)).unwrap();
    });
    assert_eq!(links, 2, "links to what another server wrote");
    let many = trips(&away, 4, |round| {
        near.record(draft("near")).unwrap();
        let drafts = (0..20).map(|i| draft(&format!("{round}/{i}")).idempotency_key(format!("{round}/{i}")));
        let answers: Vec<_> = drafts.map(|draft| here.record_async(draft)).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for answer in answers {
            runtime.block_on(answer).unwrap();
        }
    });
    assert!(many <= 4, "those that come while one is written are written together: {many} round trips");
    db.check();
}

#[test]
fn a_log_that_was_put_back_and_has_grown_again_is_read_anew() {
    if !on_postgres() {
        eprintln!("PostgreSQL's own: a file that was replaced is not written to any more");
        return;
    }
    let db = TestCairn::real();
    let options = || Options::new().automatic_checkpoints(false);
    db.record(draft("t")).unwrap();
    let before = db.place("before.db");
    copy(&db.path(), &before);
    let open = options().open(db.path()).unwrap();
    let lost = open.record(draft("t")).unwrap();
    // As after a failover that lost what was written last, when another server has written as much since.
    copy(&before, &db.path());
    let other = options().open(db.path()).unwrap();
    let newest = other.record(draft("t")).unwrap();
    assert_eq!(newest.seq, lost.seq);
    let mut next = open.record(draft("t"));
    if next.is_err() {
        // The connection may have noticed; then nothing was written.
        next = open.record(draft("t"));
    }
    assert_eq!(next.unwrap().prev_hash, newest.hash);
    let child = NewThought { parent_id: Some(lost.id.to_string()), ..draft("t") };
    open.record(child).unwrap_err();
    assert!(other.verify(&Scope::All).unwrap().valid());
}
