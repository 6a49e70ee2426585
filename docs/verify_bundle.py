#!/usr/bin/env python3
"""Verifies a Cairn bundle (cairn-bundle/1) with Python's standard library alone; shares no code with Cairn.

usage: verify_bundle.py FILE [--key VKEY]... [--key-file FILE]

FILE is a bundle, or - for stdin. VKEY is a public key that you trust, written `name+id+base64`. Get it from the people who
keep the log, not from the bundle. --key may be repeated; a key file holds one key a line.
Exit code 0: nothing is wrong; 1: something is wrong, or the file cannot be read; 2: wrong usage.
The format is described in format.md, next to this file."""
import base64, hashlib, hmac, json, re, struct, sys

USAGE = "usage: verify_bundle.py FILE [--key VKEY]... [--key-file FILE]"

FORMAT, MAX_LINE, MAX_INTEGER, ZERO = "cairn-bundle/1", 64 << 20, 2**53 - 1, "0" * 64
PARTIAL = ("a partial bundle proves inclusion, never completeness: what is in it was recorded, and what else was recorded "
           "it does not say")

class Malformed(Exception):
    """The file is not a bundle; reading stops here."""

class Finding(Exception):
    """Something in the bundle is not what was recorded."""
    def __init__(self, reason, table, message, seq=None, id=None, field=None):
        super().__init__(message)
        self.reason, self.table, self.message, self.seq, self.id, self.field = reason, table, message, seq, id, field

def sha(data): return hashlib.sha256(data).digest()
def sha_text(text): return hashlib.sha256(text.encode()).hexdigest()
def leaf_hash(data): return sha(b"\0" + data)
def node_hash(left, right): return sha(b"\1" + left + right)

# --- JSON, strictly: no duplicate keys, nothing that a second writer would write differently

def no_duplicates(pairs):
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)

def exact(text):
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER or text == "-0":
        raise ValueError("a number is too large")
    return int(text)

def no_number(text): raise ValueError("not an integer: " + text[:40])

def parse(text):
    return json.loads(text, object_pairs_hook=no_duplicates, parse_int=exact, parse_float=no_number, parse_constant=no_number)

def canonical(value):
    # Keys of a bundle are ASCII, where the order of code points is the one that RFC 8785 asks for.
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()

def read_canonical(data):
    """The value of canonical JSON; ValueError for anything else."""
    try:
        value = parse(data.decode())
        if canonical(value) != data:
            raise ValueError("not canonical JSON")
        return value
    except RecursionError:
        raise ValueError("nested too deeply")

MAX_DEPTH = 64

def a_float(text):
    number = float(text)
    if not abs(number) <= MAX_INTEGER:
        raise ValueError("a number is too large")
    return number

def any_integer(text):
    """An integer of a text that may hold floats: `-0` is one of those."""
    return exact(text) if text != "-0" else -0.0

def parse_any(text):
    """Parses what people recorded, which may hold floats."""
    return json.loads(text, object_pairs_hook=no_duplicates, parse_int=any_integer, parse_float=a_float,
                      parse_constant=no_number)

def write_float(number):
    """A number as ECMAScript writes it."""
    if number == 0:
        return "0"
    digits, exponent = "%s" % repr(abs(number)), 0
    if "e" in digits:
        digits, exponent = digits.split("e")[0], int(digits.split("e")[1])
    whole, _, part = digits.partition(".")
    part = "" if part == "0" else part
    point = len(whole) + exponent
    digits = (whole + part).lstrip("0")
    point -= len(whole + part) - len(digits)
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + "e%+d" % (point - 1)
    return ("-" if number < 0 else "") + text

def write_any(value, depth=0):
    """RFC 8785, as text: keys in the order of their UTF-16 code units."""
    if isinstance(value, (dict, list)) and depth == MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be", "surrogatepass"))
        return "{%s}" % ",".join(json.dumps(key, ensure_ascii=False) + ":" + write_any(item, depth + 1) for key, item in members)
    if isinstance(value, list):
        return "[%s]" % ",".join(write_any(item, depth + 1) for item in value)
    if isinstance(value, float):
        return write_float(value)
    return json.dumps(value, ensure_ascii=False)

def is_line(text, most):
    """Whether a text has 1 to so many characters, none of them a control character."""
    return 0 < len(text) <= most and not any(c < " " or "\x7f" <= c <= "\x9f" for c in text)

def is_hash(value):
    return isinstance(value, str) and len(value) == 64 and all(c in "0123456789abcdef" for c in value)

# --- the fields of each kind of entry: T text, N number, H hash, L list of texts, K type of a thought, S source,
# E kind of an entry, D time, B list of hashes, P list of numbers; small letters may be null

TYPES, SOURCES = ("plan", "analysis", "decision", "reflection"), ("agent", "captured", "person")
TIME = (r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)"
        r"(\.[0-9]{1,9})?Z")

KINDS = {kind: dict(field.split(":") for field in fields.split()) for kind, fields in {
    "genesis": "origin:T timestamp:T",
    "thought": "action_id:t agent_id:T applies_to:L brief_id:t chain_hash:H content_hash:H content_length:N context_id:n "
               "hash:H id:T idempotency_key:t metadata_commitment:h parent_id:t position:N prev_hash:H rejects:L "
               "session_id:T source:S step_index:N supersedes:L task_id:T timestamp:T type:K",
    "snapshot": "content_hash:H content_length:N context_id:N created_at:T metadata_commitment:h node_count:N position:N "
                "roadmap_id:T",
    "event": "body_commitment:H body_length:N created_at:T event:T event_v:N idempotency_key:t position:N session_id:T turn:N",
    "brief": "brief_id:T created_at:T data_hash:H data_length:N hash:H node:T session_id:T turn:N",
    "key": "created_at:T last_trusted_size:n op:T reason:t signature:t vkey:T",
    "redaction": "actor:T bodies:B content_hash:H content_length:N created_at:D fields:L metadata_commitment:h reason:T "
                 "remains:h shared:P target_id:T target_kind:E target_seq:N",
    "review": "actor:T created_at:T review_id:T target_id:T target_kind:E target_seq:N text_commitment:H text_length:N "
              "verdict:T",
    "continuation": "actor:T created_at:T origin:T reason:T root:H size:N",
}.items()}
PAYLOAD = {"thought": ["content", "metadata", "salt"], "snapshot": ["data", "metadata", "salt"],
           "event": ["bodies", "body", "salt"], "brief": ["data"], "review": ["salt", "text"]}
# The tables that findings name, where those are not the kinds.
TABLES = {"snapshot": "context"}
TEXTS = {"thought": "content", "snapshot": "data", "brief": "data", "event": "body", "review": "text"}
VERDICTS = ("approved", "noted", "objected")

def fits(value, kind):
    if value is None:
        return kind.islower()
    if kind in "Nn":
        return type(value) is int and value >= 0
    if kind in "Hh":
        return is_hash(value)
    if kind in "LBP":
        return isinstance(value, list) and all(fits(item, {"L": "T", "B": "H", "P": "N"}[kind]) for item in value)
    if kind in "KSE":
        return isinstance(value, str) and value in {"K": TYPES, "S": SOURCES, "E": KINDS}[kind]
    if kind == "D":
        return isinstance(value, str) and re.fullmatch(TIME, value) is not None
    return isinstance(value, str)

def read_leaf(data):
    """The fields of an entry, or None if the bytes are not those of any entry."""
    try:
        leaf = read_canonical(data)
    except ValueError:
        return None
    fields = KINDS.get(leaf.get("kind")) if isinstance(leaf, dict) and isinstance(leaf.get("kind"), str) else None
    if fields is None or set(leaf) != set(fields) | {"kind", "seq", "v"} or type(leaf["v"]) is not int or leaf["v"] != 1:
        return None
    if not fits(leaf["seq"], "N") or not all(fits(leaf[name], kind) for name, kind in fields.items()):
        return None
    if leaf["kind"] == "genesis" and leaf["seq"] != 0 or leaf["kind"] == "key" and leaf["op"] not in ("add", "retire", "revoke"):
        return None
    if leaf["kind"] == "review" and (leaf["verdict"] not in VERDICTS or leaf["target_kind"] not in KINDS):
        return None
    return leaf

# --- the body of each kind of event, exactly as it is written: a field that says nothing is left out

def text(value): return isinstance(value, str)
def number(value): return type(value) is int and 0 <= value <= MAX_INTEGER
def one_of(*words): return lambda value: isinstance(value, str) and value in words
def list_of(check): return lambda value: isinstance(value, list) and all(map(check, value))
def filled(check): return lambda value: check(value) and len(value) > 0

def shape(required, optional=None):
    optional = optional or {}
    def check(value):
        return (isinstance(value, dict) and set(required) <= set(value) <= set(required) | set(optional)
                and all((required.get(name) or optional[name])(item) for name, item in value.items()))
    return check

BODY = shape({"bytes": number, "sha256": is_hash})
ROWS = filled(list_of(shape({"id": text, "type": text}, {"label": text})))
STORED = shape({"id": text, "op": text, "type": text},
               {"body": BODY, "detail": one_of("full", "summary"), "label": text, "links": ROWS, "nested": ROWS})
OF_REF = shape({"op": text, "ref": text})
OPS = {
    "read": STORED, "update": STORED, "delete": OF_REF, "touch": OF_REF, "demote": OF_REF, "drop": OF_REF,
    "generate": shape({"op": text, "type": text}, {"body": BODY, "label": text}),
    "create": shape({"id": text, "op": text, "type": text}, {"from": text, "label": text}),
    "user": shape({"action": one_of("created", "updated", "deleted", "mentioned"), "id": text, "op": text, "type": text},
                  {"label": text}),
    "touch_text": shape({"op": text, "text": text}),
    "retain": shape({"op": text, "reason": text, "ref": text}),
    "edit": shape({"body": BODY, "op": text, "ref": text}, {"label": text}),
    "label": shape({"label": text, "op": text, "ref": text}),
    "clear": shape({"op": text}),
}

def operation(value):
    name = value.get("op") if isinstance(value, dict) else None
    return isinstance(name, str) and name in OPS and OPS[name](value)

PENDING = shape({"context": text, "type": one_of("propose", "clarify", "ask_user", "understand")},
                {"questions": filled(list_of(text))})
EVENT_V = 1
EVENTS = {
    "opened": shape({"settings": shape({"window": number})}, {"types": list_of(text)}),
    "turn_began": shape({"message": text}),
    "entities_applied": shape({"ops": list_of(operation)}),
    "step_taken": shape({"description": text, "status": one_of("done", "blocked", "failed"), "step_num": number,
                         "type": one_of("read", "analyze", "generate", "write")},
                        {"entities_involved": filled(list_of(text)), "note": text, "outcome": filled(text),
                         "subdomain": filled(text)}),
    "turn_noted": shape({}, {
        "constraints": filled(list_of(shape({"key": text, "value": lambda value: True}, {"expires": number}))),
        "decision": one_of("plan_direct", "propose", "clarify"), "engagement": text, "goal": text,
        "pending": lambda value: value is None or PENDING(value),
        "phase": one_of("exploring", "narrowing", "confirming", "executing"),
        "routing": lambda value: isinstance(value, dict), "user_expressed": text}),
    "turn_ended": shape({"reply": text}, {"blocked_reason": text, "reply_summary": text}),
    "summary_applied": shape({"from_turn": number, "kind": one_of("history", "reasoning"), "text": text, "to_turn": number}),
}

# --- ChaCha20-Poly1305 (RFC 8439), slow and without dependencies

def chacha_block(key, counter, nonce):
    start = struct.unpack("<16I", b"expand 32-byte k" + key + struct.pack("<I", counter) + nonce)
    x = list(start)
    def quarter(a, b, c, d):
        for p, q, r, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) & 0xffffffff
            mixed = x[r] ^ x[p]
            x[r] = (mixed << turn | mixed >> (32 - turn)) & 0xffffffff
    for _ in range(10):
        for i in range(4):
            quarter(i, i + 4, i + 8, i + 12)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *[(a + b) & 0xffffffff for a, b in zip(x, start)])

def poly1305(key, data):
    r, s = int.from_bytes(key[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff, int.from_bytes(key[16:], "little")
    total = 0
    for i in range(0, len(data), 16):
        total = (total + int.from_bytes(data[i:i + 16] + b"\1", "little")) * r % (2**130 - 5)
    return ((total + s) & (2**128 - 1)).to_bytes(16, "little")

def opens(key, content, ident):
    """Whether a key opens a sealed content at the place of this id."""
    if len(key) != 32 or not is_sealed(content):
        return False
    data, ident = from_base64(content[10:]), ident.encode()
    nonce, data, tag = data[:12], data[12:-16], data[-16:]
    padded = [part + bytes(-len(part) % 16) for part in (ident, data)]
    sealed = b"".join(padded) + struct.pack("<QQ", len(ident), len(data))
    if not hmac.compare_digest(poly1305(chacha_block(key, 0, nonce)[:32], sealed), tag):
        return False
    blocks = (chacha_block(key, 1 + i // 64, nonce) for i in range(0, len(data), 64))
    try:
        bytes(a ^ b for a, b in zip(data, b"".join(blocks))).decode()
        return True
    except ValueError:
        return False

def is_sealed(text):
    """Whether a content is nonce, ciphertext and tag in base64: a text that only begins like that is not sealed."""
    try:
        return text is not None and text.startswith("sealed:v1:") and len(from_base64(text[10:])) >= 28
    except ValueError:
        return False

def hex_bytes(text):
    if len(text) % 2 or any(c not in "0123456789abcdef" for c in text):
        raise Malformed("holds what is not in lower-case hex digits")
    return bytes.fromhex(text)

# --- Ed25519 (RFC 8032), slow and without dependencies

P, Q = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P

def add(a, b):
    A, B = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    C, E = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = B - A, E - C, E + C, B + A
    return e * f % P, g * h % P, f * g % P, e * h % P

def mul(s, p):
    q = (0, 1, 1, 0)
    while s:
        if s & 1:
            q = add(q, p)
        p, s = add(p, p), s >> 1
    return q

def same(a, b): return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0

def point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - x2) % P or (x == 0 and sign):
        raise ValueError("not a point")
    x = P - x if x & 1 != sign else x
    result = (x, y, 1, x * y % P)
    if same(mul(8, result), (0, 1, 1, 0)):
        raise ValueError("a weak point")
    return result

BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))

def signed(public, message, signature):
    if len(signature) != 64:
        return False
    try:
        A, R = point(public), point(signature[:32])
    except ValueError:
        return False
    s = int.from_bytes(signature[32:], "little")
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % Q
    return s < Q and same(mul(s, BASE), add(R, mul(h, A)))

def from_base64(text):
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("not in base64 as it is written here")
    return data

NO_LIMIT = 2**64

class Key:
    """A public key: name+id+base64. Its signatures count up to `limit`, a size of the log."""
    def __init__(self, text):
        name, ident, data = text.split("+", 2)
        data = from_base64(data)
        if not name or any(c.isspace() or c < " " for c in name) or len(data) != 33 or data[0] != 1:
            raise ValueError("not a key that signs notes")
        if sha(name.encode() + b"\n" + data)[:4].hex() != ident:
            raise ValueError("its id is that of another key")
        point(data[1:])
        self.text, self.name, self.id, self.public, self.limit, self.introduced = text, name, ident, data[1:], NO_LIMIT, None

    def __str__(self):
        how = "" if self.introduced is None else " (introduced by log entry %d)" % self.introduced
        return "%s+%s%s" % (self.name, self.id, how)

def read_signature(line):
    """Name, id and bytes of a signature line."""
    dash, name, data = line.split(" ")
    data = from_base64(data)
    if dash != "\u2014" or not name or "+" in name or len(data) < 5 or any(c.isspace() or c < " " for c in name):
        raise ValueError("a line is not that of a signature")
    return name, data[:4].hex(), data[4:]

def read_note(note):
    """Origin, size, root, body and signature lines of a checkpoint, signed or not."""
    if len(note.encode()) > 1000000:
        raise ValueError("it is longer than a note can be")
    body, blank, rest = note.rpartition("\n\n")
    body, lines = (body + "\n", rest) if blank else (note, "")
    parts = body.split("\n")
    if len(parts) != 4 or parts[3] or not parts[0] or len(parts[0].encode()) > 255 or any(c < " " for c in parts[0]):
        raise ValueError("a checkpoint is three lines: origin, size, root")
    origin, size, root = parts[:3]
    if not (size.isascii() and size.isdigit()) or str(exact(size)) != size:
        raise ValueError("the size is not a number")
    root = from_base64(root)
    signatures = []
    if blank and not lines.endswith("\n"):
        raise ValueError("the last signature is cut short")
    for line in lines.split("\n")[:-1]:
        signatures.append(read_signature(line))
    if len(root) != 32 or len(signatures) > 100 or (blank and not signatures):
        raise ValueError("not a checkpoint")
    return origin, int(size), root.hex(), body, signatures

def push(edge, leaf):
    """Adds a leaf hash to the complete subtrees along the right edge of the tree."""
    level = 0
    while edge and edge[-1][0] == level:
        leaf, level = node_hash(edge.pop()[1], leaf), level + 1
    edge.append((level, leaf))

def root_of(edge):
    root = edge[-1][1] if edge else sha(b"")
    for _, left in reversed(edge[:-1]):
        root = node_hash(left, root)
    return root.hex()

def included(leaf, index, size, proof, root):
    """RFC 9162, 2.1.3.2."""
    node, last = index, size - 1
    for sibling in proof:
        if last == 0:
            return False
        if node & 1 or node == last:
            leaf = node_hash(sibling, leaf)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            leaf = node_hash(leaf, sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and leaf.hex() == root

def hashes(items):
    try:
        items = [from_base64(item) for item in items] if isinstance(items, list) else [b""]
    except (ValueError, TypeError, AttributeError):
        items = [b""]
    if any(len(item) != 32 for item in items):
        raise Malformed("has a proof that is not a list of hashes in base64")
    return items

class Trust:
    """Whose signatures count: those of the given keys, and of those that such keys introduce. A change of keys counts if
    another key signed it that counts at that place. An end introduces its key, too, up to the size it names; it holds from
    the beginning, so all is followed again with it."""
    def __init__(self, origin, given, changes):
        self.origin, self.checked, ends = origin, {}, {}
        while True:
            before, self.keys, found = dict(ends), list(given), -1
            for key in self.keys:
                key.limit = ends.get(key.text, NO_LIMIT)
            while found != len(self.keys):
                found = len(self.keys)
                for change in changes:
                    if self.is_signed(change):
                        self.follow(change, ends)
            if ends == before:
                break
        first = next((change for change in changes if change["op"] == "add"), None)
        known = [key.text for key in self.keys]
        self.strange = [change for change in changes if not self.is_signed(change)
                        and not (change["op"] == "add" and (change is first or change["vkey"] in known))]

    def follow(self, change, ends):
        text, last = change["vkey"], change["last_trusted_size"]
        if change["op"] != "add":
            if last is None:
                return
            ends[text] = min(last, ends.get(text, NO_LIMIT))
        key = next((key for key in self.keys if key.text == text), None)
        if key is None:
            try:
                key = Key(text)
            except ValueError:
                return
            key.introduced = change["seq"]
            self.keys.append(key)
        key.limit = ends.get(text, NO_LIMIT)

    def is_signed(self, change):
        """Whether a key other than the one that changes signed a change, and counts at its place."""
        try:
            name, ident, data = read_signature(change["signature"] or "")
        except ValueError:
            return False
        for key in self.keys:
            if ((key.name, key.id) == (name, ident) and name == self.origin and change["seq"] < key.limit
                    and key.text != change["vkey"]):
                place = (id(change), key.text)
                if place not in self.checked:
                    size = "" if change["last_trusted_size"] is None else " %d" % change["last_trusted_size"]
                    text = "cairn key change v1\norigin %s\n%s %s%s\n" % (self.origin, change["op"], change["vkey"], size)
                    self.checked[place] = signed(key.public, text.encode(), data)
                if self.checked[place]:
                    return True
        return False

    def verdict(self, note, key):
        origin, _, _, body, signatures = note
        lines = [data for name, ident, data in signatures if (name, ident) == (key.name, key.id)]
        if not all(signed(key.public, body.encode(), data) for data in lines):
            return "forged"
        return "signed" if lines and key.name == origin else None

    def judge(self, note):
        """The keys that signed a checkpoint and count, and what is wrong with its signatures."""
        signers, wrong = [], []
        for key in self.keys:
            verdict = self.verdict(note, key)
            if verdict == "signed" and note[1] <= key.limit:
                signers.append(key)
            if verdict == "forged":
                wrong.append("the signature under the checkpoint at %d was not made with the key `%s`" % (note[1], key.text))
        names = [(name, ident) for name, ident, _ in note[4]]
        if self.keys and names and not signers and not any((key.name, key.id) in names for key in self.keys):
            wrong.append("the checkpoint at %d is signed with a key that is not the log's: %s" % (
                note[1], ", ".join("%s+%s" % name for name in names)))
        return signers, wrong

class Verifier:
    def __init__(self, source, keys):
        self.source, self.keys, self.hash, self.number, self.findings, self.notes = source, keys, hashlib.sha256(), 0, [], []
        self.thoughts, self.tasks, self.steps, self.events, self.roadmaps = {}, {}, {}, {}, {}
        self.contexts, self.newest_context, self.briefs, self.bodies, self.outside = set(), 0, {}, set(), 0
        self.gone = {}
        self.targets, self.said, self.redactions, self.unnamed = {}, {}, 0, {}
        self.whole_records, self.sharing, self.first_of_content = {}, {}, {}
        self.lines, self.expected, self.whole, self.leaves, self.edge, self.edge_size = 0, 0, True, bytearray(), [], 0
        self.chosen = 0
        self.checkpoints, self.signed, self.signers, self.header = [], 0, [], None
        self.changes, self.sound, self.stands = [], [], False

    def line(self):
        """The next line, parsed, and its bytes; None at the end."""
        self.number += 1
        data = self.source.readline(MAX_LINE + 1)
        if not data:
            return None, data
        if len(data) > MAX_LINE:
            raise Malformed("is longer than %d bytes" % MAX_LINE)
        if not data.endswith(b"\n"):
            raise Malformed("is cut short")
        try:
            value = read_canonical(data[:-1])
        except ValueError as error:
            raise Malformed("is not canonical JSON: %s" % str(error)[:200])
        if not isinstance(value, dict):
            raise Malformed("is not an object")
        return value, data

    def run(self):
        try:
            self.read_header()
            self.read_lines()
        except Malformed as error:
            message = "line %d %s" % (self.number, error)
            self.findings.append(Finding("malformed", "bundle", message, field="line %d" % self.number))
            self.notes.append("verification stopped at line %d: what follows is unverified" % self.number)
            return
        self.close()

    def read_header(self):
        header, data = self.line()
        if header is None or header.get("format") != FORMAT:
            raise Malformed("does not say `%s`: this is no bundle, or a newer one" % FORMAT)
        selection, full = header.get("selection"), header.get("full")
        named = isinstance(selection, dict) and len(selection) == 1 and isinstance(
            selection.get("session", selection.get("task")), str)
        if (set(header) != {"format", "full", "origin", "root", "selection", "size"} or not is_hash(header["root"])
                or not isinstance(header["origin"], str) or not fits(header["size"], "N") or header["size"] == 0
                or type(full) is not bool or full == named or not (named or selection is None)):
            raise Malformed("is not understood, or contradicts itself")
        self.header, self.full, self.size, self.root = header, full, header["size"], header["root"]
        self.session_chosen = None if full else selection.get("session")
        self.task_chosen = None if full else selection.get("task")
        self.hash.update(data)

    def read_lines(self):
        in_entries, keys_seen, ended = True, False, False
        while True:
            line, data = self.line()
            if line is None and ended:
                return
            if line is None:
                raise Malformed("is missing: the bundle ends before its manifest")
            if ended:
                raise Malformed("stands after the manifest")
            if "leaf" in line and in_entries:
                self.entry(line)
            elif "leaf" not in line and "checkpoint" in line and not keys_seen:
                if set(line) != {"checkpoint"} or not isinstance(line["checkpoint"], str):
                    raise Malformed("is not understood")
                if in_entries:
                    in_entries = False
                    self.close_entries()
                self.checkpoint(line["checkpoint"])
            elif set(line) == {"keys"} and fits(line["keys"], "L") and not in_entries and not keys_seen:
                keys_seen = True
            elif set(line) == {"manifest"} and keys_seen:
                ended = True
                self.manifest(line["manifest"])
            else:
                raise Malformed("stands where no line of its kind belongs")
            self.hash.update(data)

    def entry(self, line):
        text, proof = line.pop("leaf"), line.pop("proof", None)
        if not isinstance(text, str) or (proof is None) != self.full:
            raise Malformed("has a leaf or a proof that does not belong there")
        if proof is not None:
            proof = hashes(proof)
        data = text.encode()
        leaf = read_leaf(data)
        if leaf is not None:
            self.payload(leaf, line)
        self.lines += 1
        seq = self.expected if leaf is None else leaf["seq"]
        if seq < self.expected or seq >= self.size:
            self.whole = False
            self.findings.append(Finding("order", "entry", "log entry %d stands where it does not belong" % seq, seq))
            return
        if self.full and seq > self.expected:
            self.missing(self.expected, seq)
        self.expected = seq + 1
        if self.full:
            self.leaves += leaf_hash(data)
        try:
            if leaf is None:
                raise Finding("leaf_mismatch", "entry", "the bytes of log entry %d are not those of any entry" % seq, seq)
            if not self.full and leaf["kind"] in ("genesis", "continuation"):
                raise Finding("leaf_mismatch", "entry", "log entry %d, a %s, belongs to no session and no task" % (
                    seq, leaf["kind"]), seq)
            if leaf["kind"] == "thought" or leaf["kind"] in ("event", "brief") and self.task_chosen is None:
                self.chosen += 1
            getattr(self, leaf["kind"])(leaf, line)
            if proof is not None and not included(leaf_hash(data), seq, self.size, proof, self.root):
                raise Finding("leaf_mismatch", "node", "log entry %d is not in the tree under the root of the bundle" % seq, seq,
                              leaf.get("id"))
        except Finding as finding:
            self.findings.append(finding)

    def payload(self, leaf, line):
        """Whether exactly what belongs to an entry of this kind came with it."""
        names = set(PAYLOAD.get(leaf["kind"], []))
        sealed = leaf["kind"] == "thought" and isinstance(line.get("content"), str) and line["content"].startswith("sealed:v1:")
        if set(line) != (names | {"seal_key"} if sealed else names):
            raise Malformed("does not have what belongs to an entry of its kind")
        for name, value in line.items():
            if name == "bodies":
                if not isinstance(value, dict) or not all(is_hash(k) and isinstance(v, str) for k, v in value.items()):
                    raise Malformed("has `bodies` that are not texts by their digests")
            elif value is not None and not isinstance(value, str):
                raise Malformed("has a `%s` that is neither a text nor null" % name)
            elif name in ("salt", "seal_key") and value is not None and len(hex_bytes(value)) != 32 and name == "salt":
                raise Malformed("has a `salt` that does not have 32 bytes")

    def missing(self, start, end):
        self.whole = False
        which = "log entry %d is" % start if end - start == 1 else "log entries %d to %d are" % (start, end - 1)
        self.findings.append(Finding("missing_record", "entry", which + " missing", start))

    # --- what entries record

    def selected(self, leaf, wrong):
        """Says no to a record that is not of the session or the task that the bundle is of."""
        if self.session_chosen is not None and leaf["session_id"] != self.session_chosen:
            raise wrong("leaf_mismatch", "session_id", "is not the session that the bundle is of")
        if self.task_chosen is not None and leaf.get("task_id") != self.task_chosen:
            raise wrong("leaf_mismatch", "task_id", "is not the task that the bundle is of")

    def genesis(self, leaf, line):
        if leaf["origin"] != self.header["origin"]:
            raise Finding("leaf_mismatch", "log", "the first entry does not name the log it stands in", 0, None, "origin")

    def see(self, target, seq):
        """Notes a record that lacks a text or is sealed, so that a redaction has to be about it."""
        if not target["text"] or (target["metadata_commitment"] is not None and not target["metadata"]) or target["sealed"]:
            self.targets[seq] = target
        elif target["kind"] in ("snapshot", "review"):
            self.whole_records[seq] = (target["kind"], target["id"])

    def thought(self, leaf, line):
        target = {"kind": "thought", "id": leaf["id"], "content_hash": leaf["content_hash"],
                  "content_length": leaf["content_length"], "metadata_commitment": leaf["metadata_commitment"],
                  "text": line["content"] is not None,
                  "metadata": line["metadata"] is not None or line["salt"] is not None,
                  "sealed": is_sealed(line["content"]), "key": line.get("seal_key") is not None}
        self.see(target, leaf["seq"])
        try:
            self.check_thought(leaf, line)
        finally:
            key = sha(leaf["id"].encode())[:16]
            self.thoughts[key] = (leaf["seq"], leaf["chain_hash"], leaf["session_id"], leaf["type"])
            self.tasks[leaf["task_id"]] = (leaf["position"] + 1, leaf["hash"])
            self.steps[leaf["session_id"]] = leaf["step_index"] + 1

    def check_thought(self, leaf, line):
        def wrong(reason, field, what):
            return Finding(reason, "thought", "`%s` of thought `%s` %s" % (field, leaf["id"], what), leaf["seq"], leaf["id"], field)
        if leaf["context_id"] is not None:
            self.unnamed.pop(leaf["context_id"], None)
        self.selected(leaf, wrong)
        session, content = leaf["session_id"], line["content"]
        all_of_session = self.full or self.session_chosen == session
        next_position, head = self.tasks.get(leaf["task_id"], (0, ZERO))
        if sha(leaf["id"].encode())[:16] in self.thoughts:
            raise wrong("leaf_mismatch", "id", "was there before")
        for field, expected, complete in (("position", next_position, self.full or self.task_chosen == leaf["task_id"]),
                                          ("step_index", self.steps.get(session, 0), all_of_session)):
            if leaf[field] < expected or (complete and leaf[field] > expected):
                reason = "order" if leaf[field] < expected else "missing_record"
                raise wrong(reason, field, "is wrong: expected %d, found %d" % (expected, leaf[field]))
        if content is not None:
            self.same_text(content, leaf["content_hash"], leaf["content_length"],
                           lambda reason: wrong(reason, "content", "is another"))
        if line.get("seal_key") is not None:
            if not opens(bytes.fromhex(line["seal_key"]), content, leaf["id"]):
                raise Finding("content_hash_mismatch", "seal", "the key of thought `%s` does not open its content" % leaf["id"],
                              leaf["seq"], leaf["id"], "key")
        parent_hash = ZERO
        if leaf["parent_id"] is not None:
            parent = self.thoughts.get(sha(leaf["parent_id"].encode())[:16])
            if parent is not None and parent[2] != session:
                raise wrong("chain_hash_mismatch", "parent_id", "is a thought of another session")
            if parent is None and all_of_session:
                raise wrong("missing_record", "parent_id", "names no earlier thought")
            self.outside += parent is None
            parent_hash = None if parent is None else parent[1]
        if parent_hash is not None and sha_text(leaf["content_hash"] + parent_hash) != leaf["chain_hash"]:
            raise wrong("chain_hash_mismatch", "chain_hash", "does not follow from content and parent")
        if leaf["position"] > next_position:
            self.outside += 1
        elif leaf["prev_hash"] != head:
            raise wrong("prev_hash_mismatch", "prev_hash", "is not the hash of its predecessor")
        if content is not None:
            link = {name: leaf[name] for name in ("id", "prev_hash", "task_id", "timestamp", "type")}
            if sha(canonical(dict(link, content=content))).hex() != leaf["hash"]:
                raise wrong("hash_mismatch", "hash", "does not follow from the record")
        self.same_metadata(leaf, line, wrong)
        if leaf["context_id"] is not None and not self.has_context(leaf["context_id"]):
            raise wrong("missing_record", "context_id", "names no earlier snapshot")
        if leaf["brief_id"] is not None and self.briefs.get(leaf["brief_id"], (None,))[0] != session:
            if leaf["brief_id"] in self.briefs or all_of_session:
                raise wrong("missing_record", "brief_id", "names no earlier brief of the same session")
            self.outside += 1
        self.check_links(leaf, wrong, all_of_session)

    def check_links(self, leaf, wrong, all_of_session):
        """Links lead to earlier decisions, or to earlier thoughts of the session."""
        for field, most, chars in (("supersedes", 16, 200), ("rejects", 16, 200), ("applies_to", 32, 300)):
            texts = leaf[field]
            if field != "applies_to" and texts and leaf["type"] not in ("decision", "reflection"):
                raise wrong("leaf_mismatch", field, "can only be that of a decision or a reflection")
            if len(texts) > most or len(set(texts)) != len(texts) or not all(is_line(text, chars) for text in texts):
                raise wrong("leaf_mismatch", field, "is not a list that can be recorded")
        outside = 0
        for field, ids, complete in (("supersedes", leaf["supersedes"], self.full), ("rejects", leaf["rejects"], all_of_session)):
            for ident in ids:
                target = self.thoughts.get(sha(ident.encode())[:16])
                if target is None and complete:
                    raise wrong("missing_record", field, "should name earlier thoughts, and `%s` is missing" % ident)
                outside += target is None
                if field == "supersedes" and target is not None and target[3] != "decision":
                    raise wrong("leaf_mismatch", field, "should name decisions, and `%s` is none" % ident)
                if field == "rejects" and target is not None and target[2] != leaf["session_id"]:
                    raise wrong("leaf_mismatch", field, "should name thoughts of the same session, and `%s` is none" % ident)
        self.outside += outside

    def has_context(self, number):
        return 1 <= number <= self.newest_context if self.full else number in self.contexts

    def same_text(self, text, expected, length, wrong):
        if sha_text(text) != expected:
            raise wrong("content_hash_mismatch")
        if len(text.encode()) != length:
            raise wrong("leaf_mismatch")

    def same_metadata(self, leaf, line, wrong):
        metadata, salt = line["metadata"], line["salt"]
        if (metadata is None) != (salt is None):
            raise wrong("leaf_mismatch", "salt", "is there without metadata, or metadata without it")
        if metadata is not None:
            if hmac.new(bytes.fromhex(salt), metadata.encode(), hashlib.sha256).hexdigest() != leaf["metadata_commitment"]:
                raise wrong("leaf_mismatch", "metadata", "is not what the entry commits to")

    def follows(self, places, name, found, complete, wrong, field):
        expected = places.get(name, 0)
        places[name] = found + 1
        if found < expected or (complete and found > expected):
            raise wrong("order" if found < expected else "missing_record", field,
                        "is wrong: expected %d, found %d" % (expected, found))

    def snapshot(self, leaf, line):
        number = leaf["context_id"]
        self.sharing.setdefault(leaf["content_hash"], []).append(leaf["seq"])
        self.see({"kind": "snapshot", "id": str(number), "content_hash": leaf["content_hash"],
                  "content_length": leaf["content_length"], "metadata_commitment": leaf["metadata_commitment"],
                  "text": line["data"] is not None,
                  "metadata": line["metadata"] is not None or line["salt"] is not None,
                  "sealed": False, "key": False}, leaf["seq"])
        def wrong(reason, field, what, table="context"):
            return Finding(reason, table, "`%s` of context %d %s" % (field, number, what), leaf["seq"], str(number), field)
        expected = self.newest_context + 1
        self.newest_context = max(self.newest_context, number)
        self.contexts.add(number)
        if not self.full:
            self.unnamed[number] = leaf["seq"]
        bad_number = number < expected or (self.full and number > expected)
        position = None
        try:
            self.follows(self.roadmaps, leaf["roadmap_id"], leaf["position"], self.full, wrong, "position")
        except Finding as finding:
            position = finding
        if bad_number:
            raise wrong("order" if number < expected else "missing_record", "context_id",
                        "is wrong: expected %d, found %d" % (expected, number))
        if position is not None:
            raise position
        # What is gone must have been redacted.
        if line["data"] is not None:
            self.same_text(line["data"], leaf["content_hash"], leaf["content_length"],
                           lambda reason: wrong(reason, "data", "is another", "snapshot"))
        self.same_metadata(leaf, line, wrong)

    def event(self, leaf, line):
        def wrong(reason, field, what):
            return Finding(reason, "event", "`%s` of event %d %s" % (field, leaf["seq"], what), leaf["seq"], None, field)
        position = None
        try:
            self.follows(self.events, leaf["session_id"], leaf["position"], True, wrong, "position")
        except Finding as finding:
            position = finding
        self.selected(leaf, wrong)
        if position is not None:
            raise position
        if line["body"] is None:
            raise wrong("missing_record", "body", "is gone")
        if line["salt"] is None:
            # It must have been redacted, and is compared with what the redaction says.
            self.targets[leaf["seq"]] = {"kind": "event", "id": str(leaf["seq"]), "content_hash": leaf["body_commitment"],
                                         "content_length": leaf["body_length"], "metadata_commitment": None,
                                         "remains": sha_text(line["body"]), "text": False, "metadata": False,
                                         "sealed": False, "key": False}
        elif hmac.new(hex_bytes(line["salt"]), line["body"].encode(), "sha256").hexdigest() != leaf["body_commitment"]:
            raise wrong("content_hash_mismatch", "body", "is another")
        elif len(line["body"].encode()) != leaf["body_length"]:
            raise wrong("leaf_mismatch", "body", "has another length")
        first = 0
        for digest, length in self.named(leaf, line["body"]):
            if digest in self.bodies:
                if digest in self.gone and self.gone[digest][-1] != leaf["seq"]:
                    self.gone[digest].append(leaf["seq"])
                continue
            self.bodies.add(digest)
            text = line["bodies"].get(digest)
            if text is None:
                # It must have been redacted.
                self.gone[digest] = [leaf["seq"]]
                continue
            first += 1
            if sha_text(text) != digest or len(text.encode()) != length:
                raise Finding("content_hash_mismatch", "body", "the content under %s is another" % digest, leaf["seq"])
        if len(line["bodies"]) > first:
            raise Finding("leaf_mismatch", "body", "there are contents that the event is not the first to name", leaf["seq"])

    def named(self, leaf, body):
        """Digest and length of the contents that an event names."""
        def wrong(what):
            return Finding("leaf_mismatch", "event", "event %d %s" % (leaf["seq"], what), leaf["seq"])
        if leaf["event_v"] != EVENT_V:
            raise wrong("has version %d, this script knows %d" % (leaf["event_v"], EVENT_V))
        if leaf["event"] not in EVENTS:
            raise wrong("is of the kind `%s`, which there is not" % leaf["event"])
        try:
            value = parse_any(body)
            if write_any(value) != body or not EVENTS[leaf["event"]](value):
                raise ValueError("not as it is written")
        except (ValueError, RecursionError):
            raise wrong("has a body that is not one of its kind")
        ops = value["ops"] if leaf["event"] == "entities_applied" else []
        return [(op["body"]["sha256"], op["body"]["bytes"]) for op in ops if "body" in op]

    def brief(self, leaf, line):
        def wrong(reason, field="data", what="is another"):
            message = "`%s` of brief `%s` %s" % (field, leaf["brief_id"], what)
            return Finding(reason, "brief", message, leaf["seq"], leaf["brief_id"], field)
        self.briefs[leaf["brief_id"]] = (leaf["session_id"], leaf["seq"])
        if line["data"] is None:
            self.targets[leaf["seq"]] = {"kind": "brief", "id": leaf["brief_id"], "content_hash": leaf["data_hash"],
                                         "content_length": leaf["data_length"], "metadata_commitment": None,
                                         "text": False, "metadata": False, "sealed": False, "key": False}
        self.selected(leaf, wrong)
        if line["data"] is None:
            return
        self.same_text(line["data"], leaf["data_hash"], leaf["data_length"], wrong)
        try:
            data = parse_any(line["data"])
            names = ("budget", "counter", "format", "layout", "node", "sections", "seq", "session_id", "turn")
            write_any(data).encode()
            own = sha_text(write_any({name: data["brief"][name] for name in names}))
        except (ValueError, KeyError, TypeError, RecursionError):
            own = None
        if own != leaf["hash"]:
            raise wrong("hash_mismatch", "hash")

    def key(self, leaf, line):
        self.changes.append(leaf)

    def review(self, leaf, line):
        def wrong(reason, field, what):
            message = "`%s` of review `%s` %s" % (field, leaf["review_id"], what)
            return Finding(reason, "review", message, leaf["seq"], leaf["review_id"], field)
        self.see({"kind": "review", "id": leaf["review_id"], "content_hash": leaf["text_commitment"],
                  "content_length": leaf["text_length"], "metadata_commitment": None, "text": line["text"] is not None,
                  "metadata": line["text"] is None and line["salt"] is not None, "sealed": False, "key": False}, leaf["seq"])
        target, place = leaf["target_id"], None
        if leaf["target_kind"] == "brief" and target in self.briefs:
            place = self.briefs[target][1]
        elif leaf["target_kind"] == "thought" and sha(target.encode())[:16] in self.thoughts:
            place = self.thoughts[sha(target.encode())[:16]][0]
        if place != leaf["target_seq"]:
            raise wrong("missing_record", "target_seq", "is not that of the earlier thought or brief it names")
        if line["text"] is None:
            return # It must have been redacted.
        if line["salt"] is None:
            raise wrong("leaf_mismatch", "salt", "is missing")
        text = line["text"].encode()
        if hmac.new(hex_bytes(line["salt"]), text, hashlib.sha256).hexdigest() != leaf["text_commitment"]:
            raise wrong("content_hash_mismatch", "text", "is not the one that was recorded")
        if len(text) != leaf["text_length"]:
            raise wrong("leaf_mismatch", "text", "has another length")

    def continuation(self, leaf, line): pass

    def redaction(self, leaf, line):
        self.redactions += 1
        if leaf["target_kind"] == "snapshot":
            self.first_of_content.setdefault(leaf["content_hash"], leaf["seq"])
        try:
            self.check_redaction(leaf)
        finally:
            self.said.setdefault(leaf["target_seq"], leaf)

    def check_redaction(self, leaf):
        def wrong(reason, field, what):
            return Finding(reason, "redaction", "`%s` of redaction %d %s" % (field, leaf["seq"], what), leaf["seq"], None, field)
        def still_there(table, field):
            message = "`%s` of %s `%s`, which was redacted, is still there" % (field, leaf["target_kind"], leaf["target_id"])
            return Finding("leaf_mismatch", TABLES.get(table, table), message, place, leaf["target_id"], field)
        place, kind, fields = leaf["target_seq"], leaf["target_kind"], leaf["fields"]
        if place >= leaf["seq"]:
            raise wrong("order", "target_seq", "is not that of an earlier entry")
        if place in self.said:
            raise wrong("order", "target_seq", "is of what was redacted before")
        target = self.targets.get(place)
        if target is None and kind == "event" and not self.full and any(digest in self.gone for digest in leaf["bodies"]):
            return # Its target is elsewhere, and shared a content with an event that is here.
        if target is None:
            known = self.briefs.get(leaf["target_id"]) if kind == "brief" else None
            if kind == "thought" and sha(leaf["target_id"].encode())[:16] in self.thoughts:
                known = (None, self.thoughts[sha(leaf["target_id"].encode())[:16]][0])
            if self.whole_records.get(place) == (kind, leaf["target_id"]):
                known = (None, place)
            if known is not None and known[1] == place:
                raise still_there(kind, TEXTS[kind])
            raise wrong("missing_record", "target_seq", "is not that of the record it names")
        text = TEXTS[target["kind"]]
        # What can be read as it stands has no key that could have been taken.
        readable = target["text"] and not target["sealed"]
        possible = [[text]] if target["kind"] != "thought" or readable else [[text], ["seal_key"]]
        if target["kind"] == "event":
            possible.append(["body", "bodies"])
        if fields not in [first + ["metadata"] * (target["metadata_commitment"] is not None) for first in possible]:
            raise wrong("leaf_mismatch", "fields", "are not those that its target had")
        bodies, shared = [], []
        if target["kind"] == "event":
            bodies = sorted(set(leaf["bodies"]))
            naming = {seq for digest in bodies for seq in self.gone.get(digest, []) if seq < leaf["seq"] and seq != place}
            shared = sorted(naming) if self.full else leaf["shared"]
        elif target["kind"] == "snapshot" and not self.full:
            shared = sorted(set(leaf["shared"]))
        elif target["kind"] == "snapshot" and self.first_of_content.get(leaf["content_hash"]) == leaf["seq"]:
            # The first redaction of a content names all that shared it; theirs follow and name none.
            shared = [seq for seq in self.sharing.get(leaf["content_hash"], []) if seq < leaf["seq"] and seq != place]
        for field, expected in (("bodies", bodies), ("content_hash", target["content_hash"]),
                                ("content_length", target["content_length"]),
                                ("metadata_commitment", target["metadata_commitment"]),
                                ("remains", target.get("remains")), ("shared", shared),
                                ("target_id", target["id"]), ("target_kind", target["kind"])):
            if leaf[field] != expected:
                raise wrong("leaf_mismatch", field, "is wrong: expected %s, found %s" % (expected, leaf[field]))
        for seq in leaf["shared"]:
            if seq in self.whole_records:
                message = "the content of a snapshot, which was redacted with another, is still there"
                raise Finding("leaf_mismatch", "snapshot", message, seq)
        for digest in leaf["bodies"]:
            if digest not in self.gone:
                raise Finding("leaf_mismatch", "body", "content %s, which was redacted, is still there" % digest, place)
        if target["text"] and text in fields:
            raise still_there(target["kind"], text)
        if target["metadata"]:
            raise still_there(target["kind"], "salt" if kind == "review" else "metadata")
        if target["key"] and "seal_key" in fields:
            raise still_there("seal", "key")

    # --- what follows the entries

    def close_entries(self):
        if self.full and self.expected < self.size:
            self.missing(self.expected, self.size)
        if self.full and self.whole:
            edge = []
            for i in range(0, len(self.leaves), 32):
                push(edge, bytes(self.leaves[i:i + 32]))
            if root_of(edge) != self.root:
                message = "the root that the bundle states is not the root of its entries"
                self.findings.append(Finding("leaf_mismatch", "log", message, field="root"))
        if not self.full and self.chosen == 0:
            (kind, name), = self.header["selection"].items()
            self.findings.append(Finding("missing_record", "bundle", "the bundle holds no record of %s `%s`" % (kind, name)))
        for number, seq in self.unnamed.items():
            message = "`context_id` of context %d is named by no thought of the bundle" % number
            self.findings.append(Finding("leaf_mismatch", "context", message, seq, str(number), "context_id"))

    def checkpoint(self, note):
        def wrong(message, field=None):
            self.stands = False
            self.findings.append(Finding("checkpoint_mismatch", "checkpoint", message, field=field))
        self.stands = True
        try:
            origin, size, root, body, signatures = read_note(note)
        except ValueError as error:
            wrong("checkpoint %d cannot be read: %s" % (len(self.checkpoints) + 1, str(error)[:200]))
            self.checkpoints.append(0)
            return
        what = "the checkpoint of size %d" % size
        if origin != self.header["origin"]:
            wrong("%s is of another log, %s" % (what, origin), "origin")
        if self.checkpoints and self.checkpoints[-1] >= size:
            wrong("%s stands after one of size %d" % (what, self.checkpoints[-1]), "size")
        elif size < self.size and self.full and self.whole:
            while self.edge_size < size:
                push(self.edge, bytes(self.leaves[32 * self.edge_size:32 * self.edge_size + 32]))
                self.edge_size += 1
            if root_of(self.edge) != root:
                wrong("the root of %s is not that of the entries" % what, "root")
        if size == self.size and root != self.root:
            wrong("the root of %s is not that of the bundle" % what, "root")
        elif not self.full and size != self.size:
            wrong("%s is not the one that the bundle stands on" % what, "size")
        self.checkpoints.append(size)
        if self.stands:
            self.sound.append((origin, size, root, body, signatures))

    def manifest(self, manifest):
        if (not isinstance(manifest, dict) or set(manifest) != {"entries", "redacted", "sha256"} or not is_hash(manifest["sha256"])
                or not fits(manifest["entries"], "N") or not fits(manifest["redacted"], "N")):
            raise Malformed("is not understood")
        for reason, field, expected in (("missing_record", "entries", self.lines), ("missing_record", "redacted", self.redactions),
                                        ("content_hash_mismatch", "sha256", self.hash.hexdigest())):
            if manifest[field] != expected:
                message = "`%s` of the manifest is wrong: expected %s, found %s" % (field, expected, manifest[field])
                self.findings.append(Finding(reason, "manifest", message, field=field))

    def close(self):
        for seq, target in sorted(self.targets.items()):
            blanked = self.said[seq]["fields"] if seq in self.said else []
            field = TEXTS[target["kind"]]
            if target["text"] or field in blanked:
                commits = target["metadata_commitment"] is not None
                field = "metadata" if commits and not target["metadata"] and "metadata" not in blanked else None
            if field is not None:
                message = "`%s` of %s `%s` is gone, and no redaction says why" % (field, target["kind"], target["id"])
                table = TABLES.get(target["kind"], target["kind"])
                self.findings.append(Finding("missing_record", table, message, seq, target["id"], field))
        blanked = {digest for leaf in self.said.values() for digest in leaf["bodies"]}
        for digest, naming in sorted(self.gone.items()):
            if digest not in blanked:
                message = "content %s, which an event names, is missing" % digest
                self.findings.append(Finding("missing_record", "body", message, naming[0]))
        last = self.checkpoints[-1] if self.checkpoints else 0
        if last != self.size:
            message = "the last checkpoint is of size %d, the bundle of size %d" % (last, self.size)
            self.findings.append(Finding("checkpoint_mismatch", "checkpoint", message, field="size"))
        trust = Trust(self.header["origin"], self.keys, self.changes)
        for change in trust.strange if self.keys else []:
            message = "log entry %d says %s of the key `%s`, and no key that counts there has signed that" % (
                change["seq"], change["op"], change["vkey"])
            self.findings.append(Finding("checkpoint_mismatch", "log", message, change["seq"], field="signature"))
        for note in self.sound if self.keys else []:
            signers, wrong = trust.judge(note)
            self.signed += bool(signers)
            if self.stands and note is self.sound[-1]:
                self.signers = [str(key) for key in signers]
                if not signers and not wrong:
                    message = "the checkpoint that the bundle stands on is not signed by any key that counts"
                    self.findings.append(Finding("checkpoint_mismatch", "checkpoint", message, field="signature"))
            for message in wrong:
                self.findings.append(Finding("checkpoint_mismatch", "checkpoint", message, field="note"))
        unsigned = len(self.checkpoints) - self.signed
        sealed = len([seq for seq, target in self.targets.items()
                      if target["sealed"] and not target["key"] and seq not in self.said])
        for applies, note in (
                (not self.full, PARTIAL),
                (not self.keys, "no key was given, so nobody's signature was checked: anyone could have made this bundle"),
                (self.outside, "%d links lead to records outside this bundle and were not followed" % self.outside),
                (sealed, "%d contents are sealed and were not opened: their keys are not in the bundle" % sealed),
                (self.signers and unsigned, "%d older checkpoints carry no signature that counts" % unsigned)):
            if applies:
                self.notes.append(note)

def visible(text):
    return "".join(c if c.isprintable() else "\\u%04x" % ord(c) for c in str(text))

class Usage(Exception):
    """The arguments make no sense."""

def arguments_of(arguments):
    """The file and the texts of the keys that were given."""
    files, keys, waiting = [], [], list(arguments)
    while waiting:
        name, has_value, value = waiting.pop(0), False, ""
        if name.startswith("--key"):
            name, has_value, value = name.partition("=")
        if name in ("--key", "--key-file"):
            if not has_value and not waiting:
                raise Usage("%s needs a value" % name)
            value = value if has_value else waiting.pop(0)
            if name == "--key":
                keys.append(value)
                continue
            with open(value, encoding="utf-8") as source:
                lines = [line.strip() for line in source]
            lines = [line for line in lines if line and not line.startswith("#")]
            if not lines:
                raise Usage("`%s` holds no key" % value)
            keys += lines
        elif name.startswith("-") and name != "-":
            raise Usage("there is no option %s" % name)
        else:
            files.append(name)
    if len(files) != 1:
        raise Usage("no file was named" if not files else "one file at a time; a key is given with --key")
    return files[0], keys

def main(arguments):
    if any(argument in ("-h", "--help") for argument in arguments):
        print(__doc__ or USAGE)
        return 0
    try:
        file, texts = arguments_of(arguments)
        keys = []
        for text in texts:
            try:
                keys.append(Key(text))
            except ValueError:
                raise Usage("--key: a public key is written name+id+base64, as `cairn key show` prints it")
        source = sys.stdin.buffer if file == "-" else open(file, "rb")
    except Usage as error:
        print("error: %s\n%s" % (visible(error), USAGE), file=sys.stderr)
        return 2
    except OSError as error:
        print("error: cannot read `%s`: %s" % (visible(error.filename), visible(error.strerror)), file=sys.stderr)
        return 1
    except ValueError as error:
        print("error: the key file cannot be read: %s" % visible(error), file=sys.stderr)
        return 1
    try:
        with source:
            return report(source, keys)
    except OSError as error:
        print("error: the bundle could not be read: %s" % visible(error), file=sys.stderr)
        return 1

def report(source, keys):
    verifier = Verifier(source, keys)
    verifier.run()
    findings = sorted(verifier.findings, key=lambda finding: MAX_INTEGER + 1 if finding.seq is None else finding.seq)
    if findings:
        print("%d finding%s: this bundle is not what was recorded" % (len(findings), "" if len(findings) == 1 else "s"))
    else:
        who = "signed by " + " and ".join(verifier.signers) if verifier.signers else "nobody's signature was checked"
        print(visible("%d entries recomputed: nothing was changed; log %s at size %d, %s" % (
            verifier.lines, verifier.header["origin"], verifier.size, who)))
    for number, finding in enumerate(findings[:100], 1):
        place = ["table " + finding.table]
        place += [] if finding.seq is None else ["log entry %d" % finding.seq]
        place += [part for part in (finding.id, finding.field) if part is not None]
        print(visible("%d. %s (%s): %s" % (number, finding.reason, ", ".join(place), finding.message)))
    if verifier.said:
        print("\nredacted:")
    for seq, leaf in sorted(verifier.said.items())[:100]:
        print(visible("  - %s (log entry %d) by %s at %s: %s" % (
            leaf["target_id"], seq, leaf["actor"], leaf["created_at"], leaf["reason"])))
    if verifier.notes:
        print("\nnot verified:")
    for note in verifier.notes:
        print(visible("  - " + note))
    return 1 if findings else 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
