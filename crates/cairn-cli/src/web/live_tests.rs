use std::process::{Command, Stdio};

/// As much of a browser as the script needs, with a server that is slow and a log that grows all the time.
const BROWSER: &str = r#"
const [listeners, begun] = [{}, []];
let [underWay, most] = [0, 0];
globalThis.location = { href: "http://localhost/" };
globalThis.document = { body: { dataset: { live: "log" } }, getElementById: () => null, querySelectorAll: () => [] };
globalThis.DOMParser = class { parseFromString() { return document; } };
globalThis.EventSource = class { addEventListener(name, told) { listeners[name] = told; } };
globalThis.window = globalThis;
globalThis.fetch = async () => {
  begun.push(Date.now());
  most = Math.max(most, ++underWay);
  await new Promise((done) => setTimeout(done, 400));
  underWay -= 1;
  if (begun.length === 1) throw new Error("nobody there");
  return { ok: true, text: async () => "" };
};
await import("./live.mjs");
let last = 0;
const growing = setInterval(() => {
  last = Date.now();
  listeners.grew({ data: JSON.stringify({ sessions: [], whole: true }) });
}, 20);
setTimeout(() => clearInterval(growing), 3000);
setTimeout(() => console.log(JSON.stringify({ most, asked: begun.length, seen: begun.at(-1) >= last })), 7000);
"#;

#[test]
fn a_page_asks_once_at_a_time_and_sees_what_came_last() {
    let version = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("live.mjs", include_str!("assets/live.js"));
    write("run.mjs", BROWSER);
    let ran = Command::new("node").arg("run.mjs").current_dir(folder.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let told: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&told["most"], &told["seen"]), (&1.into(), &true.into()), "{told}");
    // Each took 400 ms and was followed by a pause four times as long.
    assert!((2..=4).contains(&told["asked"].as_u64().unwrap()), "{told}");
}
