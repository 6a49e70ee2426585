// Checks in the browser that a record is in the log, with nothing but what the page's JSON says and the browser's own
// cryptography. It is short so that it can be read: whoever trusts no server should read it, save it, and run it
// elsewhere (`import { checks } from "./proof.js"`). What is hashed how is in docs/format.md.

const utf8 = new TextEncoder();
const ZERO = "0".repeat(64);

const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

function fromHex(text) {
  if (!/^([0-9a-f]{2})*$/.test(text)) throw new Error(`not hexadecimal: ${text}`);
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

// RFC 9162, section 2.1.1: a leaf is hashed with 0x00 before it, an inner node with 0x01, so that neither can pass for
// the other.
export const leafHash = (leaf) => sha256(joined([0], utf8.encode(leaf)));
const nodeHash = (left, right) => sha256(joined([1], left, right));

// RFC 9162, section 2.1.3.2: walks from leaf `index` of a tree of `size` leaves to the root. Numbers of entries are
// below 2^53, so they are halved by division and not by shifting, which knows 32 bits only.
export async function rootFrom(leaf, index, size, path) {
  if (!(index < size)) throw new Error(`entry ${index} is not among the first ${size}`);
  let [hash, at, last] = [leaf, index, size - 1];
  for (const sibling of path) {
    if (last === 0) throw new Error("the path is too long");
    if (at % 2 === 1 || at === last) {
      hash = await nodeHash(sibling, hash);
      // Levels at which the node on the right edge has no sibling are not in the path.
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else {
      hash = await nodeHash(hash, sibling);
    }
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  if (last !== 0) throw new Error("the path is too short");
  return hash;
}

// A checkpoint (C2SP tlog-checkpoint) is three lines: name of the log, size, root. Signed (C2SP signed-note), a blank
// line follows, and a line for each signature: a dash, the signer's name, base64 of key id and signature.
export function readNote(note) {
  const end = note.indexOf("\n\n");
  const body = end < 0 ? note : note.slice(0, end + 1);
  const [origin, size, root, rest, ...more] = body.split("\n");
  if (rest !== "" || more.length > 0 || !/^(0|[1-9][0-9]{0,15})$/.test(size)) throw new Error("this is no checkpoint");
  const lines = end < 0 ? [] : note.slice(end + 2).split("\n").filter((line) => line !== "");
  const signatures = lines.map((line) => {
    const [dash, name, data, ...extra] = line.split(" ");
    if (dash !== "\u2014" || data === undefined || extra.length > 0) throw new Error("a line of signatures is none");
    const bytes = fromBase64(data);
    return { name, id: hex(bytes.slice(0, 4)), signature: bytes.slice(4) };
  });
  return { body, origin, size: Number(size), root: fromBase64(root), signatures };
}

// A public key: `name+id+base64(type, key)`. The id is derived from the rest, so it is recomputed here.
export async function readKey(vkey) {
  const [, name, id, data] = /^([^+\s]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? [];
  if (name === undefined) throw new Error("this is no public key");
  const bytes = fromBase64(data);
  if (bytes.length !== 33 || bytes[0] !== 1) throw new Error("this is no Ed25519 key");
  const digest = await sha256(joined(utf8.encode(name), utf8.encode("\n"), bytes));
  if (hex(digest.slice(0, 4)) !== id) throw new Error("the id of the key is not that of the key");
  return { name, id, bytes: bytes.slice(1) };
}

// Whether every signature of a key is good: "good", "wrong", "none", or "unable" if the browser has no Ed25519.
export async function signedBy(note, key) {
  const lines = note.signatures.filter((line) => line.name === key.name && line.id === key.id);
  if (lines.length === 0 || note.origin !== key.name) return "none";
  let usable;
  try {
    usable = await crypto.subtle.importKey("raw", key.bytes, { name: "Ed25519" }, false, ["verify"]);
  } catch (error) {
    if (error.name === "NotSupportedError") return "unable";
    return "wrong";
  }
  for (const line of lines) {
    const good = await crypto.subtle.verify({ name: "Ed25519" }, usable, line.signature, utf8.encode(note.body));
    if (!good) return "wrong";
  }
  return "good";
}

// The fields of a thought that its entry repeats: the page must show what the entry says. Empty lists are left out there.
const FIELDS = [
  "id", "type", "task_id", "session_id", "agent_id", "parent_id", "action_id", "context_id", "brief_id", "source",
  "step_index", "timestamp", "prev_hash", "hash", "content_hash", "chain_hash", "seq",
];
const LISTS = ["applies_to", "rejects", "supersedes"];

/**
 * Checks everything that the JSON of a page allows to check, step by step.
 * Each step is `{ ok, words }`: true, false, or null for what cannot be checked here.
 */
export async function* checks(data) {
  try {
    yield* steps(data);
  } catch (error) {
    yield { ok: false, words: `The proof cannot be read: ${error.message}.` };
  }
}

async function* steps({ proof, keys = [], thought, parent_chain_hash: parent }) {
  const step = (ok, right, wrong) => ({ ok, words: ok ? right : wrong });
  const leaf = await leafHash(proof.leaf);
  yield step(hex(leaf) === proof.leaf_hash, `The entry's ${utf8.encode(proof.leaf).length} bytes hash to its leaf hash.`,
    "The entry's bytes do not hash to its leaf hash.");

  const entry = JSON.parse(proof.leaf);
  const note = readNote(proof.checkpoint.note);
  let root;
  try {
    root = await rootFrom(leaf, proof.seq, note.size, proof.proof.map(fromHex));
  } catch (error) {
    yield step(false, "", `There is no way from the entry to the root: ${error.message}.`);
  }
  if (root) {
    const path = proof.proof.length;
    yield step(hex(root) === hex(note.root) && entry.seq === proof.seq,
      `From entry ${proof.seq} over ${path} hashes to the root that the checkpoint of ${note.size} entries states.`,
      "The path leads to another root than the checkpoint states.");
  }

  if (note.signatures.length === 0) yield { ok: null, words: "The checkpoint is not signed, so nobody vouches for it." };
  else if (keys.length === 0) yield { ok: null, words: "The log names no key for the checkpoint's signature." };
  for (const { vkey, last_trusted_size: trusted } of keys) {
    const key = await readKey(vkey);
    const verdict = await signedBy(note, key);
    const beyond = trusted !== null && trusted !== undefined && note.size > trusted;
    if (verdict === "unable") yield { ok: null, words: `This browser cannot check Ed25519 signatures (key ${key.id}).` };
    else if (beyond) yield step(false, "", `Key ${key.id} no longer counted when this checkpoint was made.`);
    else yield step(verdict === "good", `Key ${key.id} signed the checkpoint. Compare the key itself elsewhere.`,
      `The signature of key ${key.id} is not over this checkpoint.`);
  }

  if (!thought) return;
  const other = FIELDS.filter((field) => (thought[field] ?? null) !== entry[field]);
  other.push(...LISTS.filter((field) => JSON.stringify(thought[field] ?? []) !== JSON.stringify(entry[field])));
  yield step(other.length === 0 && entry.kind === "thought",
    "Author, time, links and hashes of the record are those in the entry.",
    `The record is not what the entry says: ${other.join(", ")}.`);

  if (!thought.redacted && Boolean(thought.metadata) !== Boolean(entry.metadata_commitment))
    yield { ok: false, words: `The entry says that there was ${entry.metadata_commitment ? "metadata" : "no metadata"}.` };
  else if (thought.metadata)
    yield { ok: null, words: "Metadata is in the entry with a salt that the browser does not get, so it cannot be hashed here." };

  if (thought.redacted) return yield { ok: null, words: "The text was redacted: there is nothing to hash." };
  if (thought.sealed) return yield { ok: null, words: "The text is sealed: its hash is that of the encrypted text." };
  const content = hex(await sha256(utf8.encode(thought.content)));
  yield step(content === entry.content_hash, "The text hashes to the entry's content_hash.",
    "The text does not hash to the entry's content_hash.");

  const chain = hex(await sha256(utf8.encode(content + (parent ?? ZERO))));
  yield step(chain === entry.chain_hash, "Text and parent hash to the chain_hash of the session tree.",
    "Text and parent do not hash to the chain_hash of the session tree.");

  // Canonical JSON (RFC 8785) of texts alone is what JSON.stringify writes, with the names in order.
  const { id, prev_hash, task_id, timestamp, type } = thought;
  const link = JSON.stringify({ content: thought.content, id, prev_hash, task_id, timestamp, type });
  yield step(hex(await sha256(utf8.encode(link))) === entry.hash, "The record hashes to the hash of its task chain.",
    "The record does not hash to the hash of its task chain.");
}

// What all of it comes to: nothing is said to hold of which nothing was checked.
export function verdict(results) {
  if (results.includes(false)) return { className: "verdict bad", words: "This proof does not hold." };
  if (!results.includes(true)) return { className: "verdict open", words: "Not checked by this browser." };
  if (results.includes(null))
    return { className: "verdict open", words: "Checked by this browser: what could be checked holds, and not all of it could." };
  return { className: "verdict good", words: "Checked by this browser: all of it holds." };
}

// From here on: showing it on the page.

// What the page shows must be what was checked. Characters that hide or reorder others are shown as signs, so a text
// that has some cannot be compared letter by letter.
function sameOnPage({ thought, proof }) {
  const shown = document.querySelector(thought ? "#content" : "pre.leaf");
  const checked = thought ? thought.content : proof.leaf;
  if (!shown) return null;
  if (shown.textContent === checked) return { ok: true, words: "The text on this page is the text that was checked." };
  if (/[^\P{C}\n\t]|[\u2028\u2029]/u.test(checked))
    return { ok: null, words: "The text has invisible characters, which this page shows as signs." };
  return { ok: false, words: "The text on this page is not the text that was checked." };
}

function show(list, { ok, words }) {
  const item = document.createElement("li");
  item.className = ok === null ? "open" : ok ? "good" : "bad";
  const sign = document.createElement("span");
  sign.textContent = ok === null ? "–" : ok ? "✓" : "✗";
  sign.setAttribute("aria-label", ok === null ? "not checked:" : ok ? "holds:" : "does not hold:");
  sign.setAttribute("role", "img");
  item.append(sign, " ", words);
  list.append(item);
  return ok;
}

async function check(section) {
  const list = section.querySelector(".checks");
  const results = [];
  try {
    if (!globalThis.crypto?.subtle)
      throw new Error("the browser lends its cryptography only to pages over HTTPS or from this machine");
    const reply = await fetch(section.dataset.proof, { headers: { accept: "application/json" } });
    if (!reply.ok) throw new Error(`the server answered ${reply.status}`);
    const data = await reply.json();
    for await (const result of checks(data)) results.push(show(list, result));
    const page = sameOnPage(data);
    if (page) results.push(show(list, page));
  } catch (error) {
    results.push(show(list, { ok: null, words: `The check could not go on: ${error.message}.` }));
  }
  section.querySelector(".without-script").remove();
  const said = document.createElement("p");
  const { className, words } = verdict(results);
  said.className = className;
  said.textContent = words;
  list.before(said);
}

if (globalThis.document) for (const section of document.querySelectorAll("[data-proof]")) check(section);
