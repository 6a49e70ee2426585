use rusqlite::Connection;

use super::segment::segments;
use super::*;

/// An index that keeps its texts itself, so that it is its own source.
const OWN: Index = Index {
    table: "search",
    source: "search",
    rowid: "rowid",
    columns: "content, scope",
    noted: "segments",
    what: "texts",
};

fn index() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE search USING fts5 (content, scope, tokenize = \"unicode61 remove_diacritics 2\")",
        )
        .unwrap();
    connection
}

/// Everything in which the index differs from its texts.
fn differences(connection: &Connection) -> Result<Vec<Difference>, Flaw> {
    let mut differences = Vec::new();
    compare(connection, &OWN, &mut |difference| differences.push(difference))?;
    Ok(differences)
}

fn assert_sound(connection: &Connection, when: &str) {
    let found = differences(connection);
    assert!(matches!(&found, Ok(none) if none.is_empty()), "{when}: {found:?}");
}

fn random() -> impl FnMut(u64) -> u64 {
    let mut seed: u64 = 7;
    move |below| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % below
    }
}

/// Many small transactions make FTS5 merge its segments step by step, with pages of half-merged ones trimmed away, and
/// documents that were taken out or replaced stay marked until then: none of that may raise an alarm.
#[test]
fn an_index_in_the_middle_of_merging_is_sound() {
    let connection = index();
    let mut random = random();
    for round in 0..200 {
        connection.execute_batch("BEGIN").unwrap();
        for _ in 0..random(60) {
            let words: Vec<String> = (0..40).map(|_| format!("w{}", random(20_000))).collect();
            let text = format!("common {}", words.join(" "));
            connection.execute("INSERT INTO search VALUES (?1, 'kplan')", [text]).unwrap();
        }
        if round % 3 == 0 {
            let some = random(1000) as i64 + 1;
            connection.execute("DELETE FROM search WHERE rowid % 1000 = ?1", [some]).unwrap();
            let replace =
                "UPDATE search SET content = 'common again ' || content WHERE rowid % 1000 = ?1 + 1";
            connection.execute(replace, [some]).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
        if round % 9 == 0 {
            assert_sound(&connection, &format!("round {round}"));
        }
    }
    let segments = segments(&structure(&connection, &OWN).unwrap()).unwrap();
    assert!(segments.len() > 2 && segments.iter().any(|s| s.last > 50), "the index is large enough to tell");
    connection.execute("INSERT INTO search (search) VALUES ('optimize')", []).unwrap();
    assert_sound(&connection, "at the end");
}

/// Words that stand in every text have skip lists, which outlive the pages they are for.
#[test]
fn the_skip_lists_of_pages_that_were_merged_away_are_sound() {
    let connection = index();
    let mut outlived = false;
    for round in 0..6 {
        connection.execute_batch("BEGIN").unwrap();
        for n in round * 4096..(round + 1) * 4096 {
            let (content, scope) = (format!("thought {n}"), format!("s{} t{} kplan", n % 7, n % 50));
            connection.execute("INSERT INTO search VALUES (?1, ?2)", [content, scope]).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
        assert_sound(&connection, &format!("round {round}"));
        for segment in segments(&structure(&connection, &OWN).unwrap()).unwrap() {
            let list = segment.id << 37 | 1 << 36;
            let sql = "SELECT count(*) FROM search_data WHERE id > ?1 AND id < ?2";
            let lists: i64 =
                connection.query_row(sql, [list, list | segment.first], |row| row.get(0)).unwrap();
            outlived |= lists > 0;
        }
    }
    assert!(outlived, "a skip list is left of pages that were merged away");
}

/// A word in very many texts has a skip list of several levels if pages are small.
#[test]
fn skip_lists_of_several_levels_are_sound_and_a_change_in_one_is_found() {
    let connection = index();
    connection.execute("INSERT INTO search (search, rank) VALUES ('pgsz', 32)", []).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    for n in 1..=4000 {
        connection.execute("INSERT INTO search (rowid, content) VALUES (?1, 'common')", [n * 1000]).unwrap();
    }
    connection.execute_batch("COMMIT; INSERT INTO search (search) VALUES ('optimize')").unwrap();
    assert_sound(&connection, "untouched");
    let levels = |level: i64| -> Vec<i64> {
        let sql = "SELECT id FROM search_data WHERE id >> 36 & 1 AND id >> 31 & 31 = ?1";
        connection
            .prepare(sql)
            .unwrap()
            .query_map([level], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    assert!(!levels(2).is_empty());
    for id in [levels(0)[7], levels(1)[1], levels(2)[0]] {
        let block: Vec<u8> = connection
            .query_row("SELECT block FROM search_data WHERE id = ?1", [id], |row| row.get(0))
            .unwrap();
        let set = "UPDATE search_data SET block = ?1 WHERE id = ?2";
        for at in 1..block.len() {
            let mut changed = block.clone();
            changed[at] ^= 1;
            connection.execute(set, rusqlite::params![changed, id]).unwrap();
            assert!(matches!(differences(&connection), Err(Flaw::Unsound(_))), "byte {at} of {id}");
        }
        connection.execute(set, rusqlite::params![block, id]).unwrap();
    }
    assert_sound(&connection, "as it was");
}

/// A changed byte of a page is found, or changes no answer of the index.
#[test]
fn a_changed_byte_is_found_or_changes_no_answer() {
    let connection = index();
    let mut random = random();
    for n in 0..40 {
        let words: Vec<String> = (0..30).map(|_| format!("w{}", random(60))).collect();
        connection
            .execute("INSERT INTO search VALUES (?1, ?2)", [words.join(" "), format!("s{}", n % 3)])
            .unwrap();
    }
    connection
        .execute_batch(
            "INSERT INTO search (search) VALUES ('optimize');
             CREATE VIRTUAL TABLE vocabulary USING fts5vocab (search, 'instance');",
        )
        .unwrap();
    let answers = || -> rusqlite::Result<Vec<(String, i64, String, i64)>> {
        connection
            .prepare_cached("SELECT term, doc, col, offset FROM vocabulary")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
            .collect()
    };
    let before = answers().unwrap();
    let pages: Vec<(i64, Vec<u8>)> = connection
        .prepare("SELECT id, block FROM search_data WHERE id > 10")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let set = "UPDATE search_data SET block = ?1 WHERE id = ?2";
    let mut found = 0;
    for (id, block) in pages {
        for _ in 0..400 {
            let mut changed = block.clone();
            changed[random(block.len() as u64) as usize] ^= 1 << random(8);
            connection.execute(set, rusqlite::params![changed, id]).unwrap();
            match differences(&connection) {
                Ok(none) if none.is_empty() => assert_eq!(answers().unwrap(), before),
                Ok(_) | Err(Flaw::Unsound(_)) => found += 1,
                Err(Flaw::Sql(error)) => panic!("{error}"),
            }
        }
        connection.execute(set, rusqlite::params![block, id]).unwrap();
    }
    assert!(found > 300, "{found}");
    assert_sound(&connection, "as it was");
}

/// FTS5's checksum of "payment" and "pbpment" is the same, so that its own check does not tell them apart.
#[test]
fn words_with_the_same_checksum_are_told_apart() {
    let connection = index();
    connection.execute("INSERT INTO search VALUES ('the payment of the invoice', 's1')", []).unwrap();
    connection
        .execute_batch("UPDATE search_data SET block = replace(hex(block), hex('payment'), hex('pbpment')) WHERE id > 10")
        .unwrap();
    let (id, hex): (i64, String) = connection
        .query_row("SELECT id, block FROM search_data WHERE id > 10", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert!(hex.contains("7062706d656e74") || hex.contains("7062706D656E74"));
    let block: Vec<u8> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    connection
        .execute("UPDATE search_data SET block = ?1 WHERE id = ?2", rusqlite::params![block, id])
        .unwrap();
    connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)", []).unwrap();
    assert_eq!(differences(&connection).unwrap(), [Difference::Words(1)]);
}

#[test]
fn a_term_noted_too_low_is_found() {
    let connection = index();
    for i in 0..3000 {
        connection
            .execute("INSERT INTO search VALUES (?1, 's1')", [format!("word{i} other{}", i * 7)])
            .unwrap();
    }
    connection.execute("INSERT INTO search (search) VALUES ('optimize')", []).unwrap();
    assert_sound(&connection, "untouched");
    // FTS5's own check accepts this, and a search would no longer find terms of the page before.
    let changed = connection
        .execute("UPDATE search_idx SET term = x'30' WHERE pgno = (SELECT max(pgno) FROM search_idx)", [])
        .unwrap();
    assert_eq!(changed, 1);
    assert!(matches!(differences(&connection), Err(Flaw::Unsound(_))));
}

/// FTS5 cuts a word of more than 32,768 bytes at that length, even within a character.
#[test]
fn very_long_words_are_cut_as_fts5_does() {
    let connection = index();
    for letters in [32_767, 32_768, 32_769] {
        let text = format!("{} {}é", "ж".repeat(letters), "x".repeat(letters - 1));
        connection.execute("INSERT INTO search VALUES (?1, NULL)", [text]).unwrap();
    }
    assert_sound(&connection, "long words");
}

#[test]
fn varints_are_those_of_sqlite() {
    for (bytes, value) in
        [(&[0x00][..], 0), (&[0x7f], 127), (&[0x81, 0x00], 128), (&[0xff; 9], u64::MAX), (&[0x80; 9], 0x80)]
    {
        assert_eq!(varint(bytes), Some((value, &[][..])));
    }
    assert_eq!(varint(&[0x80]), None);
    assert_eq!(varint(&[]), None);
    for value in [0, 1, 127, 128, 16_383, 16_384, 1 << 40] {
        let mut bytes = Vec::new();
        put_varint(value, &mut bytes);
        assert_eq!(varint(&bytes), Some((value, &[][..])));
    }
}
