//! Encrypted connections to the server, and passwords: with certificates made for the test.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cluster::{Cluster, encoded, give, new_folder};
use super::load::Served;
use crate::it::http::agent::Agent;
use crate::it::http::wire::get;

/// With signs that an address must have encoded.
const PASSWORD: &str = "so:se/cr@et%";
const ENCODED: &str = "so%3Ase%2Fcr%40et%25";

fn openssl(folder: &Path, args: &[&str]) -> Option<()> {
    let status = Command::new("openssl").args(args).current_dir(folder).stderr(Stdio::null()).status();
    let Ok(status) = status else {
        eprintln!("no openssl here: encrypted connections are not tested");
        return None;
    };
    assert!(status.success(), "openssl {args:?}");
    Some(())
}

const NEW_KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/// Two authorities, `one.pem` and `two.pem`, and a certificate of the first for `localhost` alone.
fn certificates(folder: &Path) -> Option<()> {
    for name in ["one", "two"] {
        let (subject, key, cert) = (format!("/CN={name}"), format!("{name}.key"), format!("{name}.pem"));
        let rest = ["-x509", "-days", "2", "-subj", &subject, "-keyout", &key, "-out", &cert];
        openssl(folder, &[&["req"][..], &NEW_KEY, &rest].concat())?;
    }
    let rest = ["-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"];
    openssl(folder, &[&["req"][..], &NEW_KEY, &rest].concat())?;
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    let sign =
        ["x509", "-req", "-in", "server.csr", "-CA", "one.pem", "-CAkey", "one.key", "-CAcreateserial"];
    let rest = ["-days", "2", "-extfile", "names", "-out", "server.pem"];
    openssl(folder, &[&sign[..], &rest].concat())?;
    ["server.key", "server.pem"].iter().for_each(|name| give(&folder.join(name)));
    Some(())
}

struct Place {
    cluster: Cluster,
    certificates: tempfile::TempDir,
    port: u16,
    state: tempfile::TempDir,
    /// Everything that was said.
    said: std::cell::RefCell<String>,
}

impl Place {
    /// A server that lets Ann in with her password, over the network only if that is encrypted.
    fn start(encrypted: bool) -> Option<Place> {
        let folder = new_folder(None);
        certificates(folder.path())?;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let file = |name: &str| folder.path().join(name).display().to_string();
        let ssl = match encrypted {
            true => format!(
                "-c ssl=on -c ssl_cert_file={} -c ssl_key_file={}",
                file("server.pem"),
                file("server.key")
            ),
            false => String::new(),
        };
        let cluster = Cluster::start(&format!("-c listen_addresses=127.0.0.1 -c port={port} {ssl}"))?;
        let kind = if encrypted { "hostssl" } else { "host" };
        let admitted = format!("local all all trust\n{kind} all ann 127.0.0.1/32 scram-sha-256\n");
        std::fs::write(cluster.data().join("pg_hba.conf"), admitted).unwrap();
        cluster.sql(&format!(
            "CREATE ROLE ann LOGIN PASSWORD '{PASSWORD}'; GRANT CREATE ON DATABASE postgres TO ann"
        ));
        cluster.sql("SELECT pg_reload_conf()");
        let (state, said) = (tempfile::tempdir().unwrap(), Default::default());
        Some(Place { cluster, certificates: folder, port, state, said })
    }

    fn root(&self, name: &str) -> PathBuf {
        self.certificates.path().join(name)
    }

    /// The same server, where nobody needs a password.
    fn on_socket(&self) -> String {
        format!("postgres://ann@{}:{}/postgres", encoded(&self.cluster.socket()), self.port)
    }

    fn address(&self, password: &str, host: &str, parameters: &str) -> String {
        let password = if password.is_empty() { String::new() } else { format!(":{password}") };
        format!("postgres://ann{password}@{host}:{}/postgres?{parameters}", self.port)
    }

    /// Whether something can be recorded there, and what was said.
    fn record(&self, address: &str, env: &[(&str, &str)]) -> (bool, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(["record", "plan", "x", "-t", "t"])
            .env("CAIRN_DB", address)
            .env("CAIRN_STATE", self.state.path())
            .env("XDG_DATA_HOME", self.state.path())
            .env("HOME", self.state.path())
            .envs(env.iter().copied())
            .output()
            .unwrap();
        let said =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).to_string()).concat();
        self.said.borrow_mut().push_str(&said);
        (output.status.success(), said)
    }

    #[track_caller]
    fn refused(&self, address: &str, words: &str) {
        let (done, said) = self.record(address, &[]);
        assert!(!done && said.contains(words), "{said}");
    }

    fn assert_silent(&self) {
        let said = self.said.borrow();
        assert!(!said.contains("se/cr") && !said.contains(ENCODED), "{said}");
    }
}

#[test]
fn a_server_is_reached_encrypted_and_only_if_it_is_the_right_one() {
    let Some(place) = Place::start(true) else { return };
    let root = |name: &str| format!("sslmode=verify-full&sslrootcert={}", place.root(name).display());
    for (host, parameters) in [
        ("127.0.0.1", "sslmode=require".to_string()),
        ("127.0.0.1", String::new()),
        ("localhost", root("one.pem")),
    ] {
        let (done, said) = place.record(&place.address(ENCODED, host, &parameters), &[]);
        assert!(done, "{host} {parameters}: {said}");
    }
    let address = |host: &str, parameters: &str| place.address(ENCODED, host, parameters);
    place.refused(&address("localhost", &root("two.pem")), "not signed by one of those in sslrootcert");
    place.refused(&address("127.0.0.1", &root("one.pem")), "is for another host name");
    place.refused(&address("127.0.0.1", "sslmode=disable"), "sslmode=require");
    place.refused(&place.address("wrong", "localhost", "sslmode=require"), "does not take this user");
    place.refused(&place.address("", "localhost", "sslmode=require"), "asks for a password");
    place.refused(&address("localhost", "sslmode=verify-full"), "needs sslrootcert");
    place.assert_silent();
}

#[test]
fn a_server_without_encryption_is_refused_where_it_is_required() {
    let Some(place) = Place::start(false) else { return };
    place.refused(&place.address(ENCODED, "127.0.0.1", "sslmode=require"), "the server offers none");
    let (done, said) = place.record(&place.address(ENCODED, "127.0.0.1", "sslmode=prefer"), &[]);
    assert!(done, "{said}");
    place.assert_silent();
}

#[test]
fn a_password_is_found_where_postgresql_looks_for_it_and_shown_nowhere() {
    let Some(place) = Place::start(true) else { return };
    let bare = place.address("", "localhost", "sslmode=require");
    let (done, said) = place.record(&bare, &[("PGPASSWORD", PASSWORD)]);
    assert!(done, "{said}");
    let file = place.state.path().join("passwords");
    let line = format!("# by host\nlocalhost:{}:*:ann:{}\n", place.port, PASSWORD.replace(':', "\\:"));
    std::fs::write(&file, line).unwrap();
    let name = file.to_str().unwrap().to_string();
    let (done, said) = place.record(&bare, &[("PGPASSFILE", &name)]);
    assert!(!done && said.contains("asks for a password") && said.contains("chmod 600"), "{said}");
    // Nobody asks for it there.
    let (done, said) = place.record(&place.on_socket(), &[("PGPASSFILE", &name)]);
    assert!(done && !said.contains("chmod"), "{said}");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (done, said) = place.record(&bare, &[("PGPASSFILE", &name)]);
    assert!(done, "{said}");
    std::fs::rename(&file, place.state.path().join(".pgpass")).unwrap();
    let (done, said) = place.record(&bare, &[]);
    assert!(done, "{said}");

    // A server with the password in its address.
    let server = Served::start(&place.address(ENCODED, "localhost", "sslmode=require"), place.state.path());
    Agent::new(server.addr)
        .data("thought_plan", serde_json::json!({ "plan_description": "x", "task_id": "t" }));
    let mut said = std::fs::read_to_string(place.state.path().join("said")).unwrap();
    said += &String::from_utf8_lossy(&std::fs::read(format!("/proc/{}/cmdline", server.id())).unwrap());
    for page in ["/", "/healthz", "/readyz", "/metrics", "/api/log"] {
        said += &get(server.addr, page).whole();
    }
    place.said.borrow_mut().push_str(&said);
    place.assert_silent();
}

#[test]
fn who_was_not_let_in_is_named_and_where_the_password_was_looked_for() {
    let Some(place) = Place::start(true) else { return };
    let bare = place.address("", "localhost", "sslmode=require");
    let refused = |address: &str, env: &[(&str, &str)], words: &str| {
        let (done, said) = place.record(address, env);
        assert!(!done && said.contains(words), "{said}");
    };
    refused(&bare, &[], "`ann`; no password is in the address or PGPASSWORD, and there is no `~/.pgpass`");
    refused(&bare, &[("PGPASSWORD", "se/cr wrong")], "`ann`, and the password that of PGPASSWORD");
    refused(&place.address("se%2Fcr", "localhost", ""), &[], "`ann`, and the password that of the address");
    let missing = place.state.path().join("missing").display().to_string();
    refused(&bare, &[("PGPASSFILE", &missing)], "missing`, which cannot be read");
    let file = place.state.path().join(".pgpass");
    std::fs::write(&file, "elsewhere:*:*:ann:x\n").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    refused(&bare, &[], ".pgpass`, which has no line about it");
    std::fs::write(&file, "localhost:*:*:ann:se/cr\n").unwrap();
    refused(&bare, &[], ".pgpass`\n");
    // No line of pg_hba.conf is about him.
    let other = place.address("", "localhost", "sslmode=require").replacen("ann", "bob", 1);
    refused(&other, &[], "does not admit this user");
    refused(&other, &[], "the user is `bob`");
    place.assert_silent();
}

#[test]
fn a_socket_and_a_host_can_be_named_together() {
    let Some(place) = Place::start(true) else { return };
    let (socket, port) = (encoded(&place.cluster.socket()), place.port);
    for (first, second) in [
        (format!("{socket}:{port}"), "localhost:1".to_string()),
        (format!("{socket}:1"), format!("localhost:{port}")),
        (format!("localhost:{port}"), format!("{socket}:1")),
    ] {
        let address = format!("postgres://ann:{ENCODED}@{first},{second}/postgres?application_name=mine");
        let (done, said) = place.record(&address, &[]);
        assert!(done, "{first},{second}: {said}");
    }
    place.refused(&format!("{}?sslmode=verify-ca", place.on_socket()), "take verify-full");
    place.assert_silent();
}

/// The password of a replica is looked for where that of the database is.
#[test]
fn a_replica_is_read_with_a_password_that_its_address_does_not_hold() {
    let Some(place) = Place::start(true) else { return };
    let (done, said) = place.record(&place.on_socket(), &[]);
    assert!(done, "{said}");
    let replica = place.address("", "localhost", "target_session_attrs=any&application_name=replica");
    let run = |password: &str| {
        Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(["mcp", "--read-db", &replica])
            .env("CAIRN_DB", place.on_socket())
            .env("CAIRN_STATE", place.state.path())
            .env("XDG_DATA_HOME", place.state.path())
            .env("HOME", place.state.path())
            .env("PGPASSWORD", password)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let output = run(PASSWORD);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!run("wrong").status.success());
}
