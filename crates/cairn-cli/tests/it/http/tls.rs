//! Encrypted connections, with a certificate made for the test and a client that shares no code with the server.

use std::path::Path;
use std::process::{Command, Stdio};

use super::harness::{Server, new_token, program};
use super::wire::Wire;

/// A certificate for 127.0.0.1 and its key; none without the program that makes them.
fn certificate(folder: &Path) -> Option<[String; 2]> {
    let paths = ["cert.pem", "key.pem"].map(|name| folder.join(name).display().to_string());
    let [cert, key] = &paths;
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=cairn", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"])
        .args(["-keyout", key, "-out", cert])
        .stderr(Stdio::null())
        .status();
    match made {
        Ok(status) => assert!(status.success(), "openssl makes no certificate"),
        Err(_) => {
            eprintln!("no openssl here: encrypted connections are not tested");
            return None;
        }
    }
    Some(paths)
}

/// Fetches pages as anyone would, and trusts the one certificate and nothing else.
const FETCH: &str = r#"
import ssl, sys, urllib.error, urllib.parse, urllib.request
place, cert, token = sys.argv[1:]
trusting = ssl.create_default_context(cafile=cert)
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None
opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusting), Stay)
with opener.open(place + "/healthz") as answer:
    assert answer.status == 200
    print(answer.read().decode())
form = urllib.parse.urlencode({"token": token, "next": "/"}).encode()
try:
    opener.open(place + "/sign-in", form)
    raise SystemExit("no redirect")
except urllib.error.HTTPError as answer:
    assert answer.code == 303, answer
    print(answer.headers["Set-Cookie"])
try:
    urllib.request.urlopen(place + "/healthz", context=ssl.create_default_context())
    raise SystemExit("a certificate that nobody vouches for was trusted")
except urllib.error.URLError as error:
    assert isinstance(error.reason, ssl.SSLCertVerificationError), error
"#;

#[test]
fn a_client_that_trusts_the_certificate_gets_in() {
    let folder = tempfile::tempdir().unwrap();
    let Some([cert, key]) = certificate(folder.path()) else { return };
    let token = new_token(folder.path(), "read", None);
    let server = Server::in_folder(folder, &["--require-token", "--tls-cert", &cert, "--tls-key", &key]);
    assert!(server.said().contains("viewer  https://127.0.0.1:"), "{}", server.said());
    let place = format!("https://{}", server.addr);
    let fetched = Command::new("python3").args(["-c", FETCH, &place, &cert, &token]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&fetched.stdout), String::from_utf8_lossy(&fetched.stderr));
    assert!(fetched.status.success(), "{out}\n{err}");
    let cookie = out.lines().find(|line| line.starts_with("cairn_token=")).unwrap();
    for part in ["Secure", "HttpOnly", "SameSite=Lax"] {
        assert!(cookie.split("; ").any(|found| found == part), "{cookie}");
    }
    // Whoever speaks without encryption is let go, and nobody else notices.
    let mut plain = Wire::open(server.addr);
    plain.request("GET", "/healthz", &[], b"").unwrap();
    let said = plain.rest();
    assert!(!said.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&said));
    let fetched = Command::new("python3").args(["-c", FETCH, &place, &cert, &token]).output().unwrap();
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let Some([cert, key]) = certificate(folder.path()) else { return };
    let other = tempfile::tempdir().unwrap();
    let [_, other_key] = certificate(other.path()).unwrap();
    let empty = folder.path().join("empty.pem").display().to_string();
    std::fs::write(&empty, "").unwrap();
    let missing = folder.path().join("missing.pem").display().to_string();
    for (cert, key, named) in [
        (&missing, &key, "--tls-cert: `"),
        (&empty, &key, "it holds no certificate"),
        (&key, &key, "it holds no certificate"),
        (&cert, &missing, "--tls-key: `"),
        (&cert, &empty, "--tls-key: `"),
        (&cert, &cert, "--tls-key: `"),
        (&cert, &other_key, "--tls-key: `"),
    ] {
        let output = program(folder.path())
            .args(["serve", "--addr", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(named) && said.contains("cannot be used"), "{cert} {key}: {said}");
    }
    let alone = program(folder.path()).args(["serve", "--tls-cert", &cert]).output().unwrap();
    assert_eq!(alone.status.code(), Some(2));
}
