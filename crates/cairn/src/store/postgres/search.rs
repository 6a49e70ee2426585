//! Full-text search: an index says which texts may match, the texts say which do and how well.

use std::collections::HashMap;

use cairn_core::thought::SEALED;
use futures::{TryStreamExt, pin_mut};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::connect::Link;
use super::error::store_error;
use super::row::{get, number, wrong_form};
use super::{PostgresStore, Result};
use crate::store::words::{Counted, Phrase, Query, Weights, Words};
use crate::store::{FoundThought, SearchReader, SearchScope, Terms};

/// How much a match in the metadata counts beside one in the content.
const METADATA: f64 = 0.5;
/// Words for session, task and type, which SQLite's index counts as words of the text.
const SCOPE_WORDS: usize = 3;
/// Beyond so many texts that hold a word, how many there are is estimated.
const COUNTED: f64 = 20_000.0;
/// Up to so many texts that hold all words of a phrase are read to see in how many it stands; of more it is estimated.
const READ: u64 = 1_000;

/// The words that say where a thought belongs, as the index holds them.
pub fn scope_words(session_no: i64, task_no: i64, kind: &str) -> [String; SCOPE_WORDS] {
    [format!("=s{session_no}"), format!("=t{task_no}"), format!("=k{kind}")]
}

/// What of a content is searchable: the words of a sealed one would stand in the index in the clear.
pub fn searchable(content: Option<&str>) -> Option<&str> {
    content.filter(|content| !content.starts_with(SEALED))
}

/// The words of the scope; none if it names a label that does not exist.
async fn scope_of(link: &Link, scope: &SearchScope<'_>) -> Result<Option<Vec<String>>> {
    let mut words = Vec::new();
    let numbered = [
        ('s', "SELECT no FROM session WHERE name = $1", scope.session_id),
        ('t', "SELECT no FROM task WHERE name = $1", scope.task_id),
    ];
    for (letter, sql, name) in numbered {
        let Some(name) = name else { continue };
        let Some(row) = link.one(sql, &[&name]).await? else { return Ok(None) };
        words.push(format!("={letter}{}", number(&row, 0)?));
    }
    words.extend(scope.kind.map(|kind| format!("=k{kind}")));
    Ok(Some(words))
}

struct Found {
    /// The newest that match, by their position in the log.
    matches: Vec<(i64, Counted)>,
    /// How many texts were looked at for that.
    looked_at: usize,
    /// Whether there were more.
    more: bool,
}

/// What the index names, newest first: its position and its texts. Where many match, the newest are soon found by looking
/// at one after the other; where few do, that would be a look at every text there is, and the index names them all.
const MANY: &str = "SELECT s.seq, t.content, t.metadata FROM search s JOIN thought t ON t.seq = s.seq
  WHERE s.words @@ $1::text::tsquery AND s.seq < $2 ORDER BY s.seq DESC LIMIT $3";
const FEW: &str = "WITH named AS MATERIALIZED (SELECT seq FROM search WHERE words @@ $1::text::tsquery)
  SELECT newest.seq, t.content, t.metadata
  FROM (SELECT seq FROM named WHERE seq < $2 ORDER BY seq DESC LIMIT $3) AS newest JOIN thought t ON t.seq = newest.seq
  ORDER BY newest.seq DESC";

/// Looks at what the index names, newest first, until there are enough. Texts come one at a time, however long they are.
async fn find(link: &Link, query: &Query, candidates: &str, newest: usize, documents: u64) -> Result<Found> {
    let at_a_time = newest as i64 + 1;
    // To find some of `holding` takes a look at `documents / holding` for each; to take all of them, `holding`.
    let many = (at_a_time as f64 * documents as f64).sqrt();
    let holding = estimate(link, "search", candidates).await?;
    let sql = if holding.is_some_and(|holding| holding > many) { MANY } else { FEW };
    let mut found = Found { matches: Vec::new(), looked_at: 0, more: false };
    let mut words = Words::default();
    let mut before = i64::MAX;
    loop {
        // Not prepared: how it is best done depends on the words.
        let values: [(&(dyn ToSql + Sync), Type); 3] =
            [(&candidates, Type::TEXT), (&before, Type::INT8), (&at_a_time, Type::INT8)];
        let rows = link.client().query_typed_raw(sql, values).await.map_err(store_error)?;
        pin_mut!(rows);
        let mut seen = 0;
        while let Some(row) = rows.try_next().await.map_err(store_error)? {
            before = get(&row, 0)?;
            seen += 1;
            if found.more {
                continue;
            }
            let content = searchable(get(&row, 1)?).unwrap_or("");
            let metadata = get::<Option<&str>>(&row, 2)?.unwrap_or("");
            let Some(mut counted) = query.count(&[(content, 1.0), (metadata, METADATA)], &mut words) else {
                continue;
            };
            if found.matches.len() == newest {
                found.more = true;
                continue;
            }
            counted.words += SCOPE_WORDS;
            found.matches.push((before, counted));
        }
        found.looked_at += seen as usize;
        if found.more || seen < at_a_time {
            return Ok(found);
        }
    }
}

/// How many texts hold each phrase.
async fn holding(
    link: &Link,
    query: &Query,
    matches: &[(i64, Counted)],
    looked_at: usize,
) -> Result<Vec<u64>> {
    let mut holding = Vec::with_capacity(query.phrases.len());
    for (index, phrase) in query.phrases.iter().enumerate() {
        let Some(words) = phrase.query().filter(|_| !matches.is_empty()) else {
            holding.push(0);
            continue;
        };
        let mut count = count(link, "search", &words).await?;
        // The index knows which texts hold all words of a phrase, not in which they stand side by side.
        if phrase.is_several() && count <= READ {
            count = read(link, phrase, &words).await?;
        } else if phrase.is_several() {
            let with = matches.iter().filter(|(_, counted)| counted.found[index] > 0.0).count();
            count = (count as f64 * with as f64 / looked_at.max(1) as f64).round().max(with as f64) as u64;
        }
        holding.push(count);
    }
    Ok(holding)
}

/// The passages of thoughts that match, by their positions in the log.
async fn snippets(link: &Link, query: &Query, seqs: &[i64]) -> Result<HashMap<i64, String>> {
    let rows = link.all("SELECT seq, content, metadata FROM thought WHERE seq = ANY ($1)", &[&seqs]).await?;
    let snippet = |row: &Row| {
        let content = searchable(get(row, 1)?).unwrap_or("");
        let metadata = get::<Option<&str>>(row, 2)?.unwrap_or("");
        Ok((get(row, 0)?, query.snippet(&[content, metadata])))
    };
    rows.iter().map(snippet).collect()
}

/// In how many texts a phrase stands, of those that hold its words.
async fn read(link: &Link, phrase: &Phrase, words: &str) -> Result<u64> {
    let sql = "SELECT t.content, t.metadata FROM search s JOIN thought t ON t.seq = s.seq
      WHERE s.words @@ $1::text::tsquery";
    let values: [(&(dyn ToSql + Sync), Type); 1] = [(&words, Type::TEXT)];
    let rows = link.client().query_typed_raw(sql, values).await.map_err(store_error)?;
    pin_mut!(rows);
    let (mut count, mut scratch) = (0, Words::default());
    while let Some(row) = rows.try_next().await.map_err(store_error)? {
        let content = searchable(get(&row, 0)?).unwrap_or("");
        let metadata = get::<Option<&str>>(&row, 1)?.unwrap_or("");
        count += u64::from(phrase.is_in(&[content, metadata], &mut scratch));
    }
    Ok(count)
}

/// How many texts of a table hold some words. Counting takes as long as there are many, so of a word that PostgreSQL knows
/// to be common its own estimate is taken.
pub async fn count(link: &Link, table: &str, words: &str) -> Result<u64> {
    match estimate(link, table, words).await? {
        Some(estimate) if estimate > COUNTED => Ok(estimate as u64),
        _ => {
            let sql = format!("SELECT count(*) FROM {table} WHERE words @@ $1::text::tsquery");
            number(&link.one(&sql, &[&words]).await?.ok_or_else(wrong_form)?, 0)
        }
    }
}

/// How many texts of a table PostgreSQL takes some words to be in. Of a word that it does not know to be common, it says half
/// as many as of the rarest one that it does.
async fn estimate(link: &Link, table: &str, words: &str) -> Result<Option<f64>> {
    // No word has a quotation mark in it; those around it are doubled inside another text.
    let quoted = words.replace('\'', "''");
    let explain = format!("EXPLAIN SELECT 1 FROM {table} WHERE words @@ '{quoted}'::tsquery");
    let plan = link.client().query_typed(&explain, &[]).await.map_err(store_error)?;
    Ok(plan.first().and_then(|row| {
        let line: &str = row.try_get(0).ok()?;
        line.split("rows=").nth(1)?.split_whitespace().next()?.parse::<f64>().ok()
    }))
}

impl SearchReader for PostgresStore {
    fn derived_through(&self) -> Result<u64> {
        self.read(async |link| {
            number(&link.one("SELECT through FROM derived", &[]).await?.ok_or_else(wrong_form)?, 0)
        })
    }

    fn search(
        &self,
        terms: &Terms,
        scope: &SearchScope<'_>,
        limit: usize,
        newest: usize,
    ) -> Result<(Vec<FoundThought>, bool)> {
        self.read_derived(async |link| {
            let query = Query::new(terms);
            let Some(scope) = scope_of(link, scope).await? else { return Ok((Vec::new(), false)) };
            let Some(candidates) = query.candidates(&scope) else { return Ok((Vec::new(), false)) };
            let row = link.one("SELECT documents, words FROM derived", &[]).await?.ok_or_else(wrong_form)?;
            let (documents, words) = (number(&row, 0)?, number(&row, 1)?);
            let Found { mut matches, looked_at, more } =
                find(link, &query, &candidates, newest, documents).await?;
            let holding = holding(link, &query, &matches, looked_at).await?;
            let weights = Weights::new(documents, words, &holding);
            let mut ranked: Vec<(f64, i64)> =
                matches.drain(..).map(|(seq, counted)| (weights.rank(&counted), seq)).collect();
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            ranked.truncate(limit);
            let seqs: Vec<i64> = ranked.iter().map(|(_, seq)| *seq).collect();
            let mut snippets = snippets(link, &query, &seqs).await?;
            let hit = |(rank, seq): (f64, i64)| {
                let snippet = snippets.remove(&seq).unwrap_or_default();
                Ok(FoundThought { seq: seq.try_into().map_err(|_| wrong_form())?, rank, snippet })
            };
            Ok((ranked.into_iter().map(hit).collect::<Result<_>>()?, more))
        })
    }
}
