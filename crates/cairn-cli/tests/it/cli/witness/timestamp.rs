//! Time stamps of an authority that is made of `openssl ts`.

use std::path::Path;
use std::process::Command;

use super::bench::Bench;
use super::server::{Reply, serve};

const CONFIG: &str = "\
[tsa]
default_tsa = authority
[authority]
dir = .
serial = ./serial
crypto_device = builtin
signer_cert = ./tsa.pem
signer_key = ./tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ordering = no
tsa_name = no
ess_cert_id_chain = no
ess_cert_id_alg = sha256
[stamping]
extendedKeyUsage = critical,timeStamping
keyUsage = critical,digitalSignature
";

fn openssl(folder: &Path, args: &str) -> bool {
    let output = Command::new("openssl").args(args.split(' ')).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("openssl {args}: {error}"));
    if !output.status.success() {
        eprintln!("openssl {args}: {}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

/// Makes an authority with keys of its own in a folder and returns its address; none where there is no openssl.
fn authority(bench: &Bench) -> Option<String> {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: there is no openssl here to make a time-stamping authority of");
        return None;
    }
    let folder = bench.path("authority");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("config"), CONFIG).unwrap();
    std::fs::write(folder.join("serial"), "01\n").unwrap();
    for args in [
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=Root -days 2",
        "req -new -newkey rsa:2048 -nodes -keyout tsa.key -out tsa.csr -subj /CN=Authority",
        "x509 -req -in tsa.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out tsa.pem -days 2 -extfile config \
         -extensions stamping",
        "req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -subj /CN=Other -days 2",
    ] {
        assert!(openssl(&folder, args));
    }
    Some(serve(move |_, body| {
        std::fs::write(folder.join("query"), body).unwrap();
        assert!(openssl(&folder, "ts -reply -config config -queryfile query -out reply"));
        Reply::Answer(200, std::fs::read(folder.join("reply")).unwrap())
    }))
}

#[test]
fn a_stamp_is_kept_verified_by_openssl_and_finds_rollback_and_fork() {
    let bench = Bench::new();
    let Some(url) = authority(&bench) else { return };
    let ca = bench.arg("authority/ca.pem");
    bench.fine(&["witness", "add", "timestamp", &url, "--ca", &ca]);
    assert_eq!(bench.json(&["witness", "list"])["witnesses"][0]["every"], 86_400);
    bench.publish();
    let check = bench.fine(&["witness", "check"]);
    assert!(check.contains("openssl verified the newest stamp"), "{check}");

    // With another root it is not the authority that was meant.
    bench.fine(&["witness", "remove", "timestamp"]);
    bench.fine(&["witness", "add", "timestamp", &url, "--ca", &bench.arg("authority/other.pem")]);
    let check = bench.run(&["witness", "check"]);
    assert!(check.code == 1 && check.out.contains("openssl does not accept"), "{}", check.out);
    bench.fine(&["witness", "remove", "timestamp"]);
    bench.fine(&["witness", "add", "timestamp", &url]);
    let check = bench.fine(&["--json", "witness", "check"]);
    assert!(check.contains("openssl ts -verify -data '"), "{check}");
    bench.fine(&["witness", "remove", "timestamp"]);

    bench.fine(&["witness", "add", "timestamp", &url, "--ca", &ca]);
    bench.publish();
    bench.rollback_and_fork_are_found("timestamp");
}

#[test]
fn a_stamp_over_something_else_or_of_another_day_is_refused() {
    let bench = Bench::new();
    let Some(url) = authority(&bench) else { return };
    bench.fine(&["witness", "add", "timestamp", &url]);
    bench.publish();
    // An answer to an earlier request, sent again.
    let old = std::fs::read(bench.path("authority/reply")).unwrap();
    let replays = serve(move |_, _| Reply::Answer(200, old.clone()));
    bench.fine(&["witness", "add", "timestamp", &replays, "--name", "replays"]);
    let run = bench.run(&["--json", "witness", "publish"]).json();
    let error = run["witnesses"][1]["error"].as_str().unwrap();
    assert!(error.contains("does not repeat the number"), "{error}");
    let size = bench.think("two").size;
    let run = bench.run(&["--json", "witness", "publish"]).json();
    assert!(run["witnesses"][1]["error"].as_str().unwrap().contains("over something else"), "{run}");
    // One that was changed where it is kept.
    let folder = std::fs::read_dir(bench.path("state/witnessed")).unwrap().flatten().next().unwrap().path();
    let note = folder.join(format!("timestamp/{size}.note"));
    std::fs::write(&note, std::fs::read_to_string(&note).unwrap() + "— x AAAAAAAA\n").unwrap();
    let verify = bench.run(&["verify"]);
    assert!(verify.code == 0 && verify.out.contains("is not over"), "{}", verify.out);
}

#[test]
fn what_is_no_stamp_is_told() {
    let bench = Bench::new();
    for (index, (status, body, words)) in [
        (200, b"".to_vec(), "its answer is no time stamp"),
        (200, vec![0x30; 4000], "its answer is no time stamp"),
        (200, vec![0x30, 5, 0x30, 3, 2, 1, 2], "it was not granted (status 2)"),
        (500, b"no".to_vec(), "it answered with status 500"),
    ]
    .into_iter()
    .enumerate()
    {
        let url = serve(move |_, _| Reply::Answer(status, body.clone()));
        let name = format!("t{index}");
        bench.fine(&["witness", "add", "timestamp", &url, "--name", &name]);
        let run = bench.run(&["witness", "publish"]);
        let told = run.out.replace("\n        ", " ");
        assert!(run.code == 1 && told.contains(words), "{told}");
        bench.fine(&["witness", "remove", &name]);
    }
}
