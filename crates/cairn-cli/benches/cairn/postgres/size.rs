//! Cost at size: bytes a record, and what an append, a search and a tree take on many rows.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use cairn::core::log::Edge;
use cairn::{Cairn, Filter, SearchQuery, Sha};

use super::place::Place;
use super::{CALLERS, append, drop_schema, options};
use crate::stats::{Sample, number};
use crate::text::{self, Draft};
use crate::{Sizes, callers, table};

/// What the tables and indexes of a schema take.
const SIZES: &str = "SELECT c.relname::TEXT, pg_relation_size(c.oid) + coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)
    FROM pg_class c WHERE c.relkind IN ('r', 'i') AND c.relnamespace = to_regnamespace($1) ORDER BY 2 DESC";

/// Records through the library, indexed, and the sizes and the rate of that.
fn fill(place: &Place, schema: &str, records: u64) -> Result<()> {
    drop_schema(place, schema)?;
    let address = place.address(schema, "&options=-csynchronous_commit%3Doff");
    let cairn: Cairn = options().open(address)?;
    callers::tasks(&cairn, 512, (0..records).map(Draft::new))?;
    catch_up(&cairn)?;
    cairn.close();
    Ok(())
}

fn catch_up(cairn: &Cairn) -> Result<()> {
    cairn.search(&SearchQuery { query: text::RARE.into(), ..SearchQuery::default() })?;
    Ok(())
}

/// Adds the records of a log to itself, again and again, until there are so many: with the same texts and words, in the
/// order in which they would have been recorded, under ids and hashes of their own. Nobody could verify it, since the
/// hashes are of nothing; what an append costs does not depend on that.
fn multiply(place: &Place, schema: &str, times: u64) -> Result<u64> {
    let client = place.connect(schema)?;
    place.wait(async {
        client.batch_execute("SET synchronous_commit = off; SET work_mem = '256MB'; SET session_replication_role = replica").await?;
        let row = client.query_one("SELECT size FROM log", &[]).await?;
        let base: i64 = row.try_get(0)?;
        // As long as there are thoughts; the genesis is not repeated.
        let period = base - 1;
        for copy in 1..times as i64 {
            let shift = copy * period;
            client
                .execute(
                    "INSERT INTO thought SELECT seq + $1, overlay(id PLACING lpad(to_hex($2::bigint), 8, '0') FROM 1 FOR 8), type,
                       task_no, position + $2 * (SELECT length FROM task WHERE no = task_no), session_no,
                       step_index + $2 * (SELECT length FROM session WHERE no = session_no), parent_seq + $1, agent_id, action_id,
                       context_id, brief_id, supersedes, rejects, applies_to, source, timestamp, content, metadata, salt, idempotency_key, prev_hash,
                       sha256(int8send(seq + $1)), content_hash, chain_hash
                     FROM thought WHERE seq < $3 ORDER BY seq",
                    &[&shift, &copy, &base],
                )
                .await?;
            client
                .execute(
                    "INSERT INTO entry SELECT seq + $1, kind, leaf, sha256(int8send(seq + $1)) FROM entry
                     WHERE seq BETWEEN 1 AND $2 ORDER BY seq",
                    &[&shift, &period],
                )
                .await?;
            client
                .execute(
                    "INSERT INTO search SELECT seq + $1, words FROM search WHERE seq < $2 ORDER BY seq",
                    &[&shift, &base],
                )
                .await?;
        }
        let size = base + (times as i64 - 1) * period;
        let subtrees = vec![Sha::of(b"made up"); size.count_ones() as usize];
        let edge = Edge::load(size as u64, subtrees).context("no log has that many entries")?;
        client.execute("UPDATE task SET length = length * $1", &[&(times as i64)]).await?;
        client.execute("UPDATE session SET length = length * $1", &[&(times as i64)]).await?;
        client
            .execute("UPDATE log SET size = $1, root = $2, edge = $3", &[&size, &&edge.root().0[..], &edge.to_bytes()])
            .await?;
        client.execute("UPDATE derived SET through = $1::bigint - 1, documents = documents * $2, words = words * $2", &[&size, &(times as i64)]).await?;
        client.batch_execute("ANALYZE; CHECKPOINT").await?;
        Ok::<_, anyhow::Error>(size as u64)
    })
}

/// (k), the part about size.
pub fn run(sizes: &Sizes, place: &Place) -> Result<()> {
    let [small, large] = sizes.shared;
    fill(place, "small", small)?;
    fill(place, "large", small)?;
    let started = Instant::now();
    let size = multiply(place, "large", large / small)?;
    println!(
        "         made {} records of {} in {:.0} s\n",
        number(size as f64),
        number(small as f64),
        started.elapsed().as_secs_f64()
    );
    bytes(place, "large", size)?;
    let [mut many_small, mut many_large, mut one_small, mut one_large]: [Sample; 4] = Default::default();
    let (_, count) = sizes.appends[1];
    let mut first = size;
    for _ in 0..sizes.rounds {
        for (schema, many, one) in
            [("small", &mut many_small, &mut one_small), ("large", &mut many_large, &mut one_large)]
        {
            let (times, _) = append(place, schema, first, count, CALLERS)?;
            many.add(count as f64 / times.total.as_secs_f64());
            let (times, _) = append(place, schema, first, sizes.appends[0].1 / 4, 1)?;
            one.add(times.calls.quantile(0.5));
        }
        first += count as u64;
    }
    println!(
        "         {CALLERS} callers: {}/s on {} records, {}/s on {}; one: {} and {} ms\n",
        many_small.show(),
        number(small as f64),
        many_large.show(),
        number(size as f64),
        one_small.show(),
        one_large.show()
    );
    let name = number(size as f64);
    table::at_most(
        &format!("cost on {name} records, {CALLERS} callers"),
        &many_small.over(&many_large),
        1.5,
        "",
    );
    table::at_most(&format!("cost on {name} records, one caller"), &one_large.over(&one_small), 1.5, "");
    println!();
    reads(sizes, place)?;
    drop_schema(place, "small")?;
    drop_schema(place, "large")
}

fn bytes(place: &Place, schema: &str, records: u64) -> Result<()> {
    let client = place.connect(schema)?;
    let found = place.wait(client.query(SIZES, &[&schema]))?;
    let (mut rows, mut all, mut searched) = (Vec::new(), 0, 0);
    for row in found {
        let (name, bytes): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
        all += bytes;
        if name.starts_with("search") {
            searched += bytes;
        }
        if bytes as u64 > records {
            rows.push([name, number(bytes as f64 / records as f64)]);
        }
    }
    ensure!(!rows.is_empty(), "no table is as large as its records");
    table::print(["table or index", "bytes a record"], &rows);
    println!(
        "         {} bytes a record in all, {} of them for search\n",
        number(all as f64 / records as f64),
        number(searched as f64 / records as f64)
    );
    Ok(())
}

type Read<'r> = &'r dyn Fn(&Cairn) -> Result<()>;

/// Reading at size.
fn reads(sizes: &Sizes, place: &Place) -> Result<()> {
    let mut rows = Vec::new();
    let open = |schema| -> Result<Cairn> {
        let cairn = options().open(place.address(schema, ""))?;
        catch_up(&cairn)?;
        Ok(cairn)
    };
    let (small, large) = (open("small")?, open("large")?);
    let timed = |sample: &mut Sample, work: &dyn Fn() -> Result<()>| -> Result<()> {
        let started = Instant::now();
        work()?;
        sample.add_ms(started.elapsed());
        Ok(())
    };
    let search = |cairn: &Cairn, query: &str| {
        cairn.search(&SearchQuery { query: query.into(), ..SearchQuery::default() }).map(drop)
    };
    let page = |cairn: &Cairn| -> Result<()> {
        let task_id = Some(text::task_name(3));
        let page = cairn.list(&Filter { task_id, limit: Some(100), ..Filter::default() })?;
        ensure!(page.records.len() == 100, "a page of a task is shorter than it was asked for");
        Ok(())
    };
    let kinds: [(&str, Read<'_>); 3] = [
        ("search, a rare word", &|cairn| Ok(search(cairn, text::RARE)?)),
        ("search, a word in every record", &|cairn| Ok(search(cairn, text::COMMON)?)),
        ("a page of 100 of a task", &page),
    ];
    for (name, work) in kinds {
        let (mut on_small, mut on_large) = (Sample::default(), Sample::default());
        for _ in 0..sizes.searches.min(9) {
            timed(&mut on_small, &|| work(&small))?;
            timed(&mut on_large, &|| work(&large))?;
        }
        rows.push([name.to_string(), on_small.show(), on_large.show()]);
    }
    table::print(["reading", "ms, few records", "ms, many"], &rows);
    Ok(())
}
