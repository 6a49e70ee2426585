"""Asks aics-tlog and rekor-verifier about claims of Cairn, and lets aics-tlog make claims for Cairn to check.

usage: oracle.py check < claims    one line of answers a claim
       oracle.py make              claims
"""

import dataclasses
import hashlib
import json
import random
import sys

import aics_tlog
from aics_tlog.cosign import cosignature_vkey, sign_cosignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rekor_verifier import merkle_proof


def aics(claim):
    kind = claim["kind"]
    if kind == "leaf":
        proof, root = [bytes.fromhex(h) for h in claim["proof"]], bytes.fromhex(claim["root"])
        return aics_tlog.verify_leaf_inclusion(claim["entry"].encode(), claim["index"], claim["size"], proof, root)
    if kind == "growth":
        proof = [bytes.fromhex(h) for h in claim["proof"]]
        old, new = bytes.fromhex(claim["old_root"]), bytes.fromhex(claim["new_root"])
        return aics_tlog.verify_consistency(claim["old"], claim["new"], old, new, proof)
    try:
        note = aics_tlog.parse_note(claim["note"])
        checkpoint = aics_tlog.parse_checkpoint(note.text)
    except ValueError:
        return False
    key = aics_tlog.parse_vkey(claim["vkey"])
    if kind == "checkpoint":
        found = aics_tlog.verify_checkpoint(note, key)
        expected = (claim["origin"], claim["size"], bytes.fromhex(claim["root"]))
        return found.ok and (checkpoint.origin, checkpoint.size, checkpoint.root) == expected
    lines = [s for s in note.signatures if (s.name, s.key_id) == (key.name, key.key_id)]
    if len(lines) != 1 or int.from_bytes(lines[0].signature[:8], "big") != claim["time"]:
        return False
    return aics_tlog.verify_cosignature(
        lines[0].signature, key.name, key.public_key, checkpoint.origin, checkpoint.size, checkpoint.root
    )


def rekor(claim):
    hasher = merkle_proof.Hasher()
    try:
        if claim["kind"] == "leaf":
            leaf = hasher.hash_leaf(claim["entry"].encode()).hex()
            merkle_proof.verify_inclusion(
                hasher, claim["index"], claim["size"], leaf, claim["proof"], claim["root"]
            )
        else:
            merkle_proof.verify_consistency(
                hasher, claim["old"], claim["new"], claim["proof"], claim["old_root"], claim["new_root"]
            )
    # It raises what it calls RootMismatchError, or ValueError for a wrong number of hashes.
    except Exception:
        return False
    return True


def check():
    for line in sys.stdin:
        claim = json.loads(line)
        answers = {"aics-tlog": aics(claim)}
        if claim["kind"] in ("leaf", "growth"):
            answers["rekor-verifier"] = rekor(claim)
        print(json.dumps(answers))


def make():
    pick = random.Random(6)
    entries = [f"theirs {i}" for i in range(1000)]
    tree = aics_tlog.MerkleTree([e.encode() for e in entries])
    for size in [*range(1, 301), *(pick.randrange(301, 1001) for _ in range(50))]:
        root = tree.root(size)
        index, old = pick.randrange(size), pick.randrange(1, size + 1)
        say(
            kind="leaf", entry=entries[index], index=index, size=size, root=root.hex(),
            proof=[h.hex() for h in tree.inclusion_proof(index, size)],
        )
        say(
            kind="growth", old=old, new=size, old_root=tree.root(old).hex(), new_root=root.hex(),
            proof=[h.hex() for h in tree.consistency_proof(old, size)],
        )
        origin, witness = f"log.example/{size % 9}", "witness.example/w1"
        key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(origin.encode()).digest())
        note = aics_tlog.sign_checkpoint(aics_tlog.Checkpoint(origin, size, root), key, origin)
        vkey = aics_tlog.format_vkey(aics_tlog.vkey_from_ed25519(origin, key.public_key()))
        say(kind="checkpoint", note=note.serialise(), vkey=vkey, origin=origin, size=size, root=root.hex())
        time = 1_700_000_000 + size
        _, line = sign_cosignature(key, witness, time, origin, size, root)
        note = dataclasses.replace(note, signatures=(*note.signatures, line))
        vkey = aics_tlog.format_vkey(cosignature_vkey(witness, key.public_key()))
        say(kind="cosignature", note=note.serialise(), vkey=vkey, time=time)


def say(**claim):
    print(json.dumps({**claim, "holds": True}))


if __name__ == "__main__":
    {"check": check, "make": make}[sys.argv[1]]()
