//! What a PostgreSQL server must be like. Elsewhere there is nothing to see here.

use cairn::{Address, Cairn, OpenError, StoreError};

use crate::harness::{Folder, Sql, server};

/// The address of another database, or for another role, on the same server.
fn address(folder: &Folder, from: &str, to: &str) -> String {
    let whole = folder.database("cairn.db").to_str().unwrap().to_string();
    assert!(whole.contains(from), "{whole} has no {from}");
    whole.replacen(from, to, 1)
}

fn unsuitable(address: &str) -> String {
    match Cairn::open(address).err() {
        Some(OpenError::Store { source: StoreError::Unsuitable(why), .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_database_in_another_encoding_is_refused() {
    let Some(server) = server() else { return };
    let (folder, sql) = (Folder::new(), Sql::on(server));
    let name = format!("ascii_{}", std::process::id());
    let newer = sql.query_row("SELECT current_setting('server_version_num')::int >= 150000", [], |row| {
        row.get::<bool>(0)
    });
    let provider = if newer.unwrap() { "LOCALE_PROVIDER libc" } else { "" };
    sql.execute_batch(&format!(
        "CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' {provider} TEMPLATE template0"
    ))
    .unwrap();
    let why = unsuitable(&address(&folder, "/postgres?", &format!("/{name}?")));
    sql.execute_batch(&format!("DROP DATABASE {name}")).unwrap();
    assert!(why.starts_with("the database's encoding must be UTF8, found SQL_ASCII; make one"), "{why}");
}

/// Whoever is told to be a replica runs no trigger: nothing would refuse a change.
#[test]
fn a_role_whose_triggers_are_off_is_refused_or_has_them_on() {
    let Some(server) = server() else { return };
    let (folder, sql) = (Folder::new(), Sql::on(server));
    let name = format!("silent_{}", std::process::id());
    sql.execute_batch(&format!(
        "CREATE ROLE {name} LOGIN; ALTER ROLE {name} SET session_replication_role = replica"
    ))
    .unwrap();
    let address = address(&folder, "postgres@", &format!("{name}@"));
    let why = unsuitable(&address);
    assert!(why.starts_with("session_replication_role is set for this role"), "{why}");
    // A superuser may set it, and then it is.
    sql.execute_batch(&format!("ALTER ROLE {name} SUPERUSER")).unwrap();
    let opened = Cairn::open(&address).map(drop);
    sql.execute_batch(&format!(
        "ALTER ROLE {name} RESET ALL; REASSIGN OWNED BY {name} TO postgres; DROP ROLE {name}"
    ))
    .unwrap();
    opened.unwrap();
}

#[test]
fn a_log_is_in_the_same_place_whichever_of_its_servers_is_named_first() {
    let named = |text: &str| Address::parse(text).unwrap().to_string();
    let place = named("postgres://ann:secret@b.example:5433,a.example/trail?schema=s");
    assert_eq!(place, "postgres://a.example:5432,b.example:5433/trail?schema=s");
    assert_eq!(named("postgres://bob@a.example:5432,b.example:5433/trail?schema=s"), place);
}
