//! Working memory: turns a second, folding a long session, building briefs.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use cairn::{BriefRequest, Cairn, Durability, NewSession, Options, StatePart};
use serde_json::{Value, json};

use crate::stats::{Sample, number};
use crate::{Sizes, data, table};

/// Entities of the long session, at most.
const ENTITIES: usize = 500;

/// (h).
pub fn run(sizes: &Sizes) -> Result<()> {
    table::title('h', "working memory");
    let folder = data::scratch()?;
    turns(sizes, folder.path())?;
    let mut growth = Sample::default();
    let [short, long] = sizes.turns;
    // From what the file keeps and what is newer; from the events alone, as verification does it.
    let mut kept = Sample::default();
    let (mut quick, mut slow) = (Sample::default(), Sample::default());
    for (turns, anew) in [(short, &mut quick), (long, &mut slow)] {
        let path = folder.path().join(format!("{turns}.db"));
        fill(&path, turns)?;
        let options = || Options::new().create(false).keep_states_after(u64::MAX);
        let cold = |sample: &mut Sample| -> Result<()> {
            for _ in 0..sizes.rounds {
                let cairn = options().open(&path)?;
                let start = Instant::now();
                cairn.session_state("s", None, Some(StatePart::Entities))?;
                sample.add_ms(start.elapsed());
            }
            Ok(())
        };
        if turns == long {
            cold(&mut kept)?;
        }
        options().open(&path)?.rebuild()?;
        cold(anew)?;
    }
    growth.add(slow.median() / quick.median() * short as f64 / long as f64);
    let rows = [
        ["from what the file keeps".to_string(), kept.show()],
        ["from the events alone".to_string(), slow.show()],
    ];
    table::print([&format!("fold of {} turns, cold", number(long as f64)), "ms"], &rows);
    let mut rows = Vec::new();
    let mut slowest = Sample::default();
    let cairn = Options::new().create(false).open(folder.path().join(format!("{short}.db")))?;
    for node in ["understand", "think", "act", "reply"] {
        for budget in [None, Some(2000)] {
            let request =
                BriefRequest { session_id: "s".into(), node: node.into(), budget, ..BriefRequest::default() };
            cairn.brief_build(&request, false)?;
            let mut warm = Sample::default();
            let mut tokens = 0;
            for _ in 0..sizes.searches {
                let start = Instant::now();
                tokens = cairn.brief_build(&request, false)?.brief.report.tokens;
                warm.add_ms(start.elapsed());
            }
            let name = match budget {
                None => node.to_string(),
                Some(budget) => format!("{node}, budget {budget}"),
            };
            rows.push([name, number(tokens as f64), warm.show()]);
            slowest.add(warm.median());
        }
    }
    table::print(["brief, warm", "tokens", "ms"], &rows);
    let mut worst = Sample::default();
    worst.add(slowest.max());
    table::at_most(
        &format!("the slowest brief of {} turns and {ENTITIES} entities", number(short as f64)),
        &worst,
        5.0,
        " ms",
    );
    let what = format!("fold of {} turns, cold, from what the file keeps", number(long as f64));
    table::at_most(&what, &kept, 150.0, " ms");
    table::at_most("time a turn of folding on the longer session against the shorter", &growth, 1.5, "");
    Ok(())
}

/// Many sessions at once, each turn with five steps and ten operations on entities.
fn turns(sizes: &Sizes, folder: &Path) -> Result<()> {
    const SESSIONS: usize = 64;
    let mut rate = Sample::default();
    for round in 0..sizes.rounds {
        let cairn =
            Options::new().durability(Durability::Full).open(folder.join(format!("turns-{round}.db")))?;
        let each = (sizes.calls.1 / 8 / SESSIONS).max(2);
        let start = Instant::now();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..SESSIONS)
                .map(|session| {
                    let cairn = cairn.clone();
                    scope.spawn(move || -> Result<()> {
                        let session = format!("session {session}");
                        cairn.session_open(NewSession {
                            session_id: Some(session.clone()),
                            ..Default::default()
                        })?;
                        (0..each).try_for_each(|turn| one_turn(&cairn, &session, turn))
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
        })?;
        rate.add((SESSIONS * each) as f64 / start.elapsed().as_secs_f64());
    }
    table::at_least("turns a second, 64 sessions, on disk", &rate, 2000.0);
    Ok(())
}

fn one_turn(cairn: &Cairn, session: &str, turn: usize) -> Result<()> {
    cairn.turn_begin(session, &format!("What about number {turn}?"), None)?;
    cairn.entity_apply(session, operations(turn), None, None)?;
    for step in 1..=5 {
        let step = json!({"step_num": step, "type": "read", "subdomain": "kitchen", "description": "look for it",
                          "outcome": format!("found {step} of them"), "entities_involved": ["recipe_1"]});
        cairn.turn_step(session, step)?;
    }
    cairn.turn_end(session, &format!("Number {turn} is fine, and so are the others."), None, None)?;
    Ok(())
}

fn operations(turn: usize) -> Vec<Value> {
    (0..10)
        .map(|n| {
            let id = (turn * 7 + n) % ENTITIES;
            json!({"op": "read", "type": "recipe", "id": id, "label": format!("Recipe {id}"),
                   "body": {"name": format!("Recipe {id}"), "minutes": id % 60}})
        })
        .collect()
}

/// A session of many turns. Nobody waits for the disk here.
fn fill(path: &Path, turns: usize) -> Result<()> {
    let cairn = Options::new().durability(Durability::Normal).open(path)?;
    cairn.session_open(NewSession { session_id: Some("s".into()), ..Default::default() })?;
    (0..turns).try_for_each(|turn| one_turn(&cairn, "s", turn))?;
    cairn.close();
    Ok(())
}
