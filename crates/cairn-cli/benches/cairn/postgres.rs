//! (k): the same on PostgreSQL, which several servers may share.

mod bare;
mod order;
mod peer;
mod place;
mod size;

use anyhow::Result;
use cairn::{Cairn, Options};

use crate::bare::rows;
use crate::callers::{self, Times};
use crate::stats::{Sample, number};
use crate::text::Draft;
use crate::{Sizes, table};
use bare::{Bare, Way};
use place::Place;

/// Callers at once.
const CALLERS: usize = 64;

/// (k).
pub fn run(sizes: &Sizes) -> Result<()> {
    table::title('k', "on PostgreSQL, through the library");
    let Some(place) = Place::start()? else { return Ok(()) };
    appends(sizes, &place)?;
    singles(sizes, &place)?;
    together(sizes, &place)?;
    order::run(sizes, &place)?;
    size::run(sizes, &place)
}

fn options() -> Options {
    Options::new().automatic_checkpoints(false)
}

/// Opens, appends, closes; returns how long the appends took and how many went in a transaction.
fn append(place: &Place, schema: &str, first: u64, count: usize, callers: usize) -> Result<(Times, f64)> {
    let cairn: Cairn = options().open(place.address(schema, ""))?;
    // The first thought starts the writer.
    cairn.record(Draft::new(0).thought(None))?;
    let before = cairn.activity();
    let times = callers::tasks(&cairn, callers, Draft::many(first, count).into_iter())?;
    let after = cairn.activity();
    let per_commit =
        (after.committed_writes - before.committed_writes) as f64 / (after.commits - before.commits) as f64;
    cairn.close();
    Ok((times, per_commit))
}

fn drop_schema(place: &Place, schema: &str) -> Result<()> {
    place.run("public", &format!("DROP SCHEMA IF EXISTS {schema} CASCADE"))
}

/// Many callers, against a bare loop and against LangGraph.
fn appends(sizes: &Sizes, place: &Place) -> Result<()> {
    let (_, count) = sizes.appends[1];
    let peer = peer::find()?;
    let [mut ours, mut loops, mut whole, mut per_commit, mut p50, mut p99]: [Sample; 6] = Default::default();
    let mut puts: [(&str, usize, Sample); 3] = [
        ("threads", 16, Sample::default()),
        ("threads", 64, Sample::default()),
        ("tasks", 64, Sample::default()),
    ];
    for _ in 0..sizes.rounds {
        drop_schema(place, "many")?;
        drop_schema(place, "bare")?;
        let (times, group) = append(place, "many", 0, count, CALLERS)?;
        ours.add(count as f64 / times.total.as_secs_f64());
        per_commit.add(group);
        p50.add(times.calls.quantile(0.5));
        p99.add(times.calls.quantile(0.99));
        let mut floor = Bare::open(place, "bare", "many")?;
        let group = group.round().max(1.0) as usize;
        for (way, rate) in [(Way::Rows, &mut loops), (Way::Together, &mut whole)] {
            let taken = floor.write(place, &rows(Draft::many(0, count)), group, way)?;
            rate.add(count as f64 / taken.as_secs_f64());
        }
        for (way, callers, rate) in &mut puts {
            if let Some(peer) = &peer {
                rate.add(peer.puts(place, count / 4, way, *callers)?);
            }
        }
    }
    let row = |name: &str, rate: &Sample| [name.to_string(), rate.show(), ours.over(rate).show()];
    let mut table_rows = vec![
        row("cairn", &ours),
        row("bare: an INSERT a row, in transactions of that size", &loops),
        row("bare: an INSERT for each such group", &whole),
    ];
    for (way, callers, rate) in &puts {
        table_rows.push(row(&format!("LangGraph's puts, {callers} {way}"), rate));
    }
    table::print([&format!("{CALLERS} callers"), "records/s", "cairn to it"], &table_rows);
    println!(
        "         {} a transaction, p50 {} ms, p99 {} ms\n",
        number(per_commit.median()),
        number(p50.median()),
        number(p99.median())
    );
    table::at_least("against a bare loop of the same rows and batches", &ours.over(&loops), 0.5);
    let best = puts.iter().max_by(|one, other| one.2.median().total_cmp(&other.2.median()));
    if let Some((_, _, best)) = best.filter(|_| peer.is_some()) {
        table::at_least("against LangGraph's checkpointer, at its best", &ours.over(best), 5.0);
    }
    println!();
    Ok(())
}

/// One caller, against single inserts. In short turns, so that what slows the machine for a second slows both.
fn singles(sizes: &Sizes, place: &Place) -> Result<()> {
    const TURN: usize = 25;
    let (_, count) = sizes.appends[0];
    let (mut ours, mut floor) = (Sample::default(), Sample::default());
    for _ in 0..sizes.rounds {
        drop_schema(place, "one")?;
        drop_schema(place, "bare")?;
        let cairn: Cairn = options().open(place.address("one", ""))?;
        cairn.record(Draft::new(0).thought(None))?;
        let mut bare = Bare::open(place, "bare", "one")?;
        let (mut appends, mut inserts) = (Sample::default(), Sample::default());
        for turn in 0..count / 2 / TURN {
            let drafts = || Draft::many((turn * TURN) as u64, TURN);
            appends.extend(callers::tasks(&cairn, 1, drafts().into_iter())?.calls);
            inserts.extend(bare.single(place, &rows(drafts()))?);
        }
        cairn.close();
        ours.add(appends.quantile(0.5));
        floor.add(inserts.quantile(0.5));
    }
    println!("         one append: {} ms, one bare insert: {} ms\n", ours.show(), floor.show());
    table::at_most("p50 of an append against a bare durable insert", &ours.over(&floor), 2.0, "");
    println!();
    Ok(())
}

/// Several servers on one log, against one.
fn together(sizes: &Sizes, place: &Place) -> Result<()> {
    let (_, count) = sizes.appends[1];
    let servers = [1, 2, 4];
    let mut rates: [Sample; 3] = Default::default();
    let mut p50: [Sample; 3] = Default::default();
    for _ in 0..sizes.rounds {
        for ((servers, rate), p50) in servers.into_iter().zip(&mut rates).zip(&mut p50) {
            drop_schema(place, "several")?;
            let each = count / servers;
            // The tables are made before anyone counts.
            options().open(place.address("several", ""))?.close();
            let started = std::time::Instant::now();
            let times: Vec<Times> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..servers)
                    .map(|server| {
                        let first = (server * each) as u64;
                        scope.spawn(move || append(place, "several", first, each, CALLERS / servers))
                    })
                    .collect();
                let times = threads.into_iter().map(|thread| thread.join().expect("no server panics"));
                times.map(|times| Ok(times?.0)).collect::<Result<_>>()
            })?;
            rate.add(count as f64 / started.elapsed().as_secs_f64());
            let mut all = Sample::default();
            times.into_iter().for_each(|times| all.extend(times.calls));
            p50.add(all.quantile(0.5));
        }
    }
    let rows: Vec<[String; 4]> = servers
        .iter()
        .zip(&rates)
        .zip(&p50)
        .map(|((servers, rate), p50)| {
            [servers.to_string(), rate.show(), rate.over(&rates[0]).show(), number(p50.median())]
        })
        .collect();
    table::print([&format!("servers, {CALLERS} callers in all"), "records/s", "to one", "p50 ms"], &rows);
    Ok(())
}
