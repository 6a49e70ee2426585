//! Twenty attacks on a database and the controls beside them: which layer notices, and that none cries wolf.
//!
//! Four layers look at the same file, each by itself: the task chains and the session trees, read from the rows alone;
//! `verify` with the log's public key and nothing else from outside; and the head that was remembered outside.

#[path = "attacks/controls.rs"]
mod controls;
#[path = "attacks/forger.rs"]
pub mod forger;

use std::path::{Path, PathBuf};

use cairn::core::note::{SigningKey, VerifyingKey};
use cairn::{
    Cairn, HeadFolder, KeyFolder, NewThought, Options, Outside, OutsideHead, OutsideKey, Report, Scope,
    Thought, ThoughtType, Timestamp,
};
use controls::CONTROLS;
use rusqlite::params;

use crate::harness::{Folder, Sql, copy};

/// What a layer does.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    /// It notices.
    Yes,
    /// It stays silent.
    No,
    /// It depends on what is in the database.
    ByLuck,
    /// It is told, and nothing is called wrong.
    Note,
}
use Says::{ByLuck, No, Note, Yes};

impl Says {
    fn sign(self) -> &'static str {
        match self {
            Yes => "●",
            No => "–",
            ByLuck => "○",
            Note => "note",
        }
    }
}

/// A database of 60 thoughts in three tasks and two sessions, stated three times; its key and its head are elsewhere.
struct Scene {
    folder: Folder,
    origin: String,
}

impl Scene {
    fn new() -> Scene {
        let folder = Folder::new();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let mut scene = Scene { folder, origin: String::new() };
        let cairn = scene.open();
        let mut parents: [Option<Thought>; 2] = [None, None];
        for i in 0..60 {
            let session = i % 2;
            let mut draft = NewThought::new(ThoughtType::ALL[i % 4], format!("thought {i}"))
                .task(format!("task {}", i % 3))
                .session(format!("session {session}"))
                .agent("ada");
            if i % 5 == 0 {
                draft = draft.metadata(serde_json::json!({"branch": "main"}).as_object().unwrap().clone());
            }
            if let Some(parent) = parents[session].as_ref().filter(|_| i % 7 > 1) {
                draft = draft.parent(&parent.id);
            }
            parents[session] = Some(cairn.record(draft).unwrap());
            if i % 20 == 19 {
                cairn.checkpoint().unwrap();
            }
        }
        scene.origin = cairn.status().unwrap().origin;
        cairn.close();
        scene
    }

    fn path(&self) -> PathBuf {
        self.folder.database("data/cairn.db")
    }

    fn keys(&self) -> KeyFolder {
        KeyFolder::new(self.folder.path().join("keys"))
    }

    fn options(&self) -> Options {
        Options::new().signer(self.keys()).heads(self.folder.path().join("heads"))
    }

    fn open(&self) -> Cairn {
        self.options().open(self.path()).unwrap()
    }

    fn secret(&self) -> SigningKey {
        cairn::load_key(&self.keys().path(&self.origin)).unwrap().unwrap()
    }

    /// Runs `attack` on the database, with every trigger gone; they are put back afterwards.
    fn attack(&self, attack: impl FnOnce(&Sql)) {
        Sql::open(&self.path()).unprotected(attack);
    }

    /// `verify` with the log's public key, and nothing else from outside.
    fn with_key(&self, key: &VerifyingKey) -> Report {
        let source = "given".to_string();
        let outside = Outside {
            keys: vec![OutsideKey { key: key.clone(), source, must_have_signed: true }],
            ..Outside::default()
        };
        let cairn = Options::new().create(false).open(self.path()).unwrap();
        cairn.verify_against(&Scope::All, outside, &|_| {}).unwrap()
    }

    /// Whether the log is another than the one whose newest head was remembered.
    fn contradicts_the_head(&self) -> bool {
        let heads = HeadFolder::new(self.folder.path().join("heads"));
        let head = heads.read(&self.origin).unwrap().newest().unwrap().clone();
        let witness = "a witness".to_string();
        let seen = OutsideHead { witness, size: head.size, root: head.root, at: head.at };
        let outside = Outside { heads: vec![seen], ..Outside::default() };
        let cairn = Options::new().create(false).open(self.path()).unwrap();
        let report = cairn.verify_against(&Scope::All, outside, &|_| {}).unwrap();
        report.findings.iter().any(|finding| finding.message.contains("a witness"))
    }
}

struct Case {
    what: &'static str,
    chains: Says,
    trees: Says,
    verify: Says,
    head: Says,
    /// What `verify` must say, or the witness where only that one notices.
    words: &'static str,
    run: fn(&Scene),
}

fn edit(sql: &Sql, statement: &str) {
    assert!(sql.execute(statement, []).unwrap() > 0, "{statement}");
}

/// Rewrites the past, everything in it consistent.
fn rewrite(scene: &Scene, keys: &[&SigningKey]) {
    scene.attack(|sql| {
        edit(sql, "UPDATE thought SET content = 'something else' WHERE seq = 31");
        forger::relink(sql);
        let (size, root) = forger::rebuild_log(sql);
        forger::restate(sql, size, root, keys);
    });
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::set_permissions(to, from.metadata().unwrap().permissions()).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

fn more(cairn: &Cairn, content: &str) {
    cairn
        .record(NewThought::new(ThoughtType::Plan, content).session("session 0").task("task 0").agent("ada"))
        .unwrap();
}

const CASES: [Case; 20] = [
    Case {
        what: "content edited in place",
        chains: Yes,
        trees: Yes,
        verify: Yes,
        head: No,
        words: "`content` of thought",
        run: |scene| scene.attack(|sql| edit(sql, "UPDATE thought SET content = 'x' WHERE seq = 31")),
    },
    Case {
        what: "content and the record's own hashes edited, its successors left",
        chains: Yes,
        trees: ByLuck,
        verify: Yes,
        head: No,
        words: "thought `",
        run: |scene| {
            scene.attack(|sql| {
                edit(sql, "UPDATE thought SET content = 'x' WHERE seq = 31");
                let before = forger::rows(sql);
                forger::relink(sql);
                // Those after it are put back as they were.
                for row in before.iter().filter(|row| row.seq != 31) {
                    sql.execute(
                        "UPDATE thought SET prev_hash = ?2, hash = ?3, chain_hash = ?4 WHERE seq = ?1",
                        params![row.seq, row.prev_hash.0, row.hash.0, row.chain_hash.0],
                    )
                    .unwrap();
                }
            });
        },
    },
    Case {
        what: "content edited, both chains recomputed",
        chains: No,
        trees: No,
        verify: Yes,
        head: No,
        words: "thought `",
        run: |scene| {
            scene.attack(|sql| {
                edit(sql, "UPDATE thought SET content = 'x' WHERE seq = 31");
                forger::relink(sql);
            });
        },
    },
    Case {
        what: "`agent_id` edited",
        chains: No,
        trees: No,
        verify: Yes,
        head: No,
        words: "thought `",
        run: |scene| scene.attack(|sql| edit(sql, "UPDATE thought SET agent_id = 'eve' WHERE seq = 31")),
    },
    Case {
        what: "metadata, or an action, or the session edited",
        chains: No,
        trees: No,
        verify: Yes,
        head: No,
        words: "thought `",
        run: |scene| {
            scene.attack(|sql| {
                edit(
                    sql,
                    "UPDATE thought SET metadata = '{\"branch\":\"x\"}'
                     WHERE seq = (SELECT max(seq) FROM thought WHERE metadata IS NOT NULL)",
                );
            });
        },
    },
    Case {
        what: "parent changed, the tree below recomputed",
        chains: No,
        trees: No,
        verify: Yes,
        head: No,
        words: "thought `",
        run: |scene| {
            scene.attack(|sql| {
                edit(
                    sql,
                    "UPDATE thought SET parent_seq =
                       (SELECT seq FROM thought t WHERE t.session_no = thought.session_no AND t.seq < 31 ORDER BY seq LIMIT 1)
                     WHERE seq = 31",
                );
                forger::relink(sql);
            });
        },
    },
    Case {
        what: "timestamp of the newest record edited",
        chains: Yes,
        trees: No,
        verify: Yes,
        head: No,
        words: "thought `",
        run: |scene| {
            scene.attack(|sql| {
                edit(
                    sql,
                    "UPDATE thought SET timestamp = '2020-01-01T00:00:00.000Z'
                     WHERE seq = (SELECT max(seq) FROM thought)",
                );
            });
        },
    },
    Case {
        what: "record deleted from the middle",
        chains: Yes,
        trees: ByLuck,
        verify: Yes,
        head: No,
        words: "is missing",
        run: |scene| scene.attack(|sql| edit(sql, "DELETE FROM thought WHERE seq = 31")),
    },
    Case {
        what: "newest records of a task deleted, or a whole task or session",
        chains: ByLuck,
        trees: ByLuck,
        verify: Yes,
        head: No,
        words: "is missing",
        run: |scene| {
            scene.attack(|sql| {
                edit(sql, "DELETE FROM thought WHERE task_no = 2 AND position > 15");
                edit(
                    sql,
                    "UPDATE task SET length = 16, head = (SELECT hash FROM thought WHERE task_no = 2 AND position = 15)
                     WHERE no = 2",
                );
            });
        },
    },
    Case {
        what: "row inserted with right hashes, without an entry in the log",
        chains: No,
        trees: No,
        verify: Yes,
        head: No,
        words: "rows of table `thought`",
        run: |scene| {
            scene.attack(|sql| {
                edit(
                    sql,
                    "INSERT INTO thought SELECT seq + 1000, id || 'x', type, task_no,
                       (SELECT length FROM task WHERE no = task_no), session_no,
                       (SELECT length FROM session WHERE no = session_no), NULL, agent_id, NULL, NULL, NULL, NULL, NULL, NULL,
                       source, timestamp, 'slipped in', NULL, NULL, NULL, prev_hash, hash, content_hash, chain_hash, leaf_hash
                     FROM thought WHERE seq = 31",
                );
                edit(sql, "UPDATE task SET length = length + 1 WHERE no = (SELECT task_no FROM thought WHERE seq = 1031)");
                edit(
                    sql,
                    "UPDATE session SET length = length + 1
                     WHERE no = (SELECT session_no FROM thought WHERE seq = 1031)",
                );
                forger::relink(sql);
            });
        },
    },
    Case {
        what: "fork: two records with one predecessor",
        chains: Yes,
        trees: No,
        verify: Yes,
        head: No,
        words: "rows of table `thought`",
        run: |scene| {
            scene.attack(|sql| {
                let fork = "INSERT INTO thought SELECT seq + 1000, id || 'x', type, task_no, position + ?1, session_no,
                              step_index + 1000, NULL, agent_id, NULL, NULL, NULL, NULL, NULL, NULL, source, timestamp,
                              content, NULL, NULL, NULL, prev_hash, hash, content_hash, chain_hash, leaf_hash
                            FROM thought WHERE seq = 31";
                // At the same position PostgreSQL itself refuses it; SQLite keeps no index of positions for that.
                let at = match sql {
                    Sql::File(_) => 0,
                    Sql::Server(_) => 1000,
                };
                assert!(at == 0 || sql.execute(fork, [0]).is_err());
                assert_eq!(sql.execute(fork, [at]).unwrap(), 1);
                // What is left of the tree's link fits: it has no parent now.
                edit(
                    sql,
                    "UPDATE thought SET parent_seq = (SELECT parent_seq FROM thought WHERE seq = 31) WHERE seq = 1031",
                );
            });
        },
    },
    Case {
        what: "rollback to an older signed state: a restored backup, a cut tail",
        chains: No,
        trees: No,
        verify: No,
        head: Yes,
        words: "the newest part of the log is gone",
        run: |scene| {
            let backup = scene.folder.database("backup.db");
            copy(&scene.path(), &backup);
            let cairn = scene.open();
            more(&cairn, "after the backup");
            cairn.close();
            copy(&backup, &scene.path());
        },
    },
    Case {
        what: "whole database rewritten consistently, without the key",
        chains: No,
        trees: No,
        verify: Yes,
        head: Yes,
        words: "no checkpoint is signed with the key",
        run: |scene| rewrite(scene, &[]),
    },
    Case {
        what: "whole database rewritten and signed again with the log's key",
        chains: No,
        trees: No,
        verify: No,
        head: Yes,
        words: "the log was rewritten",
        run: |scene| rewrite(scene, &[&scene.secret()]),
    },
    Case {
        what: "split view: a second branch signed with the log's key",
        chains: No,
        trees: No,
        verify: No,
        head: Yes,
        words: "the log was rewritten",
        run: |scene| {
            let branch = scene.folder.database("branch.db");
            copy(&scene.path(), &branch);
            let cairn = scene.open();
            more(&cairn, "one view");
            cairn.close();
            let other = Options::new().signer(scene.keys()).open(&branch).unwrap();
            more(&other, "another view");
            other.close();
            copy(&branch, &scene.path());
        },
    },
    Case {
        what: "rewritten and signed with another key, or under another name",
        chains: No,
        trees: No,
        verify: Yes,
        head: Yes,
        words: "signed with a key that is not the log's",
        run: |scene| rewrite(scene, &[&SigningKey::from_seed(&scene.origin, [9; 32]).unwrap()]),
    },
    Case {
        what: "order of records changed, the log rebuilt",
        chains: No,
        trees: No,
        verify: Yes,
        head: Yes,
        words: "are not those that were stated",
        run: |scene| {
            scene.attack(|sql| {
                // Two neighbours of different tasks and sessions change places.
                edit(sql, "UPDATE thought SET seq = -1 WHERE seq = 31");
                edit(sql, "UPDATE thought SET seq = 31 WHERE seq = 32");
                edit(sql, "UPDATE thought SET seq = 32 WHERE seq = -1");
                sql.execute(
                    "UPDATE thought SET parent_seq = CASE parent_seq WHEN 31 THEN 32 ELSE 31 END
                             WHERE parent_seq IN (31, 32)",
                    [],
                )
                .unwrap();
                forger::relink(sql);
                forger::rebuild_log(sql);
            });
        },
    },
    Case {
        what: "content erased without a redaction",
        chains: Yes,
        trees: No,
        verify: Yes,
        head: No,
        words: "thought `",
        run: |scene| scene.attack(|sql| edit(sql, "UPDATE thought SET content = NULL WHERE seq = 31")),
    },
    Case {
        what: "the stored edge of the tree changed",
        chains: No,
        trees: No,
        verify: Yes,
        head: No,
        words: "edge",
        run: |scene| {
            scene.attack(|sql| {
                edit(sql, "UPDATE log SET edge = root");
            });
        },
    },
    Case {
        what: "record with an earlier time than the one before it, through the API",
        chains: No,
        trees: No,
        verify: Note,
        head: No,
        words: "earlier time",
        run: |scene| {
            let past = || Timestamp::parse("2020-01-01T00:00:00.000Z").unwrap();
            let cairn = scene.options().clock(past).open(scene.path()).unwrap();
            more(&cairn, "backdated");
            cairn.close();
        },
    },
];

#[test]
fn every_attack_is_noticed_by_the_layers_that_should_and_by_no_other() {
    let mut wrong = Vec::new();
    let scene = Scene::new();
    let pristine = Folder::new();
    copy_folder(scene.folder.path(), pristine.path());
    copy(&scene.path(), &pristine.database("data/cairn.db"));
    for (number, case) in CASES.iter().enumerate() {
        // In the same place each time: what is remembered of a log names it.
        std::fs::remove_dir_all(scene.folder.path()).unwrap();
        copy_folder(pristine.path(), scene.folder.path());
        copy(&pristine.database("data/cairn.db"), &scene.path());
        let key = scene.secret().verifying_key().clone();
        (case.run)(&scene);
        let sql = Sql::open(&scene.path());
        let (chains, trees) = (forger::chains_are_broken(&sql), forger::trees_are_broken(&sql));
        drop(sql);
        let report = scene.with_key(&key);
        let head = scene.contradicts_the_head();
        for (layer, expected, noticed) in [
            ("chains", case.chains, chains),
            ("trees", case.trees, trees),
            ("verify", case.verify, !report.valid()),
            ("head", case.head, head),
        ] {
            let fits = match expected {
                Yes => noticed,
                No | Note => !noticed,
                ByLuck => true,
            };
            if !fits {
                wrong.push(format!(
                    "{}. {}: {layer} should be {} ({report:?})",
                    number + 1,
                    case.what,
                    expected.sign()
                ));
            }
        }
        // All layers together, as a user has them.
        let together = scene.options().create(false).open(scene.path()).unwrap().verify(&Scope::All).unwrap();
        let said: Vec<&str> = match case.verify {
            Note => together.notes.iter().map(String::as_str).collect(),
            Yes => report.findings.iter().map(|finding| finding.message.as_str()).collect(),
            _ => together.findings.iter().map(|finding| finding.message.as_str()).collect(),
        };
        if !said.iter().any(|sentence| sentence.contains(case.words)) {
            wrong.push(format!("{}. {}: nobody says {:?}: {said:#?}", number + 1, case.what, case.words));
        }
        assert_eq!(together.valid(), case.verify == Note, "{}. {}", number + 1, case.what);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn honest_use_is_never_called_wrong() {
    for control in &CONTROLS {
        let scene = Scene::new();
        let key = scene.secret().verifying_key().clone();
        (control.run)(&scene);
        let sql = Sql::open(&scene.path());
        assert_eq!(forger::chains_are_broken(&sql), control.unreadable, "{}", control.what);
        assert!(!forger::trees_are_broken(&sql), "{}", control.what);
        drop(sql);
        let report = scene.with_key(&key);
        assert!(report.valid(), "{}: {report:?}", control.what);
        assert!(!scene.contradicts_the_head(), "{}", control.what);
        let together = scene.options().open(scene.path()).unwrap();
        let report = together.verify(&Scope::All).unwrap();
        assert!(report.valid(), "{}: {report:?}", control.what);
        if let Some(words) = control.note {
            assert!(
                report.notes.iter().any(|note| note.contains(words)),
                "{}: {:?}",
                control.what,
                report.notes
            );
        }
        // And it goes on.
        more(&together, "afterwards");
    }
}

const BEGIN: &str =
    "<!-- Made by a test: `CAIRN_UPDATE_DOCS=1 cargo test -p cairn attacks` writes it anew. -->\n";
const END: &str = "<!-- end of what the test makes -->\n";

#[test]
fn the_threat_model_shows_the_table_that_is_tested() {
    let mut table = String::from(
        "| # | attack | task chains | session trees | `verify` with the key | remembered head |\n|---|---|---|---|---|---|\n",
    );
    for (number, case) in CASES.iter().enumerate() {
        let signs = [case.chains, case.trees, case.verify, case.head].map(Says::sign);
        table.push_str(&format!("| {} | {} | {} |\n", number + 1, case.what, signs.join(" | ")));
    }
    table.push_str("\n| honest use | what is said |\n|---|---|\n");
    for control in &CONTROLS {
        table.push_str(&format!("| {} | {} |\n", control.what, control.expected));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/threat-model.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (_, after) = rest.split_once(END).expect("the place for the table has an end");
    let now = format!("{before}{BEGIN}{table}{END}{after}");
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written == now, "docs/threat-model.md is out of date: run this with CAIRN_UPDATE_DOCS=1");
}
