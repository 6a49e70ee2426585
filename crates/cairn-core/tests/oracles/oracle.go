// Asks Go's x/mod/sumdb about claims of Cairn, and lets it make claims for Cairn to check.
//
//	oracle check < claims    one line of answers a claim
//	oracle make              claims
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type claim struct {
	Kind    string   `json:"kind"`
	Entry   string   `json:"entry,omitempty"`
	Index   int64    `json:"index"`
	Size    int64    `json:"size"`
	Proof   []string `json:"proof"`
	Root    string   `json:"root"`
	Old     int64    `json:"old"`
	New     int64    `json:"new"`
	OldRoot string   `json:"old_root"`
	NewRoot string   `json:"new_root"`
	Note    string   `json:"note"`
	Vkey    string   `json:"vkey"`
	Origin  string   `json:"origin"`
	Holds   bool     `json:"holds"`
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func hash(text string) (h tlog.Hash) {
	copy(h[:], must(hex.DecodeString(text)))
	return h
}

func hashes(texts []string) (all []tlog.Hash) {
	for _, text := range texts {
		all = append(all, hash(text))
	}
	return all
}

func texts(hashes []tlog.Hash) []string {
	all := []string{}
	for _, h := range hashes {
		all = append(all, hex.EncodeToString(h[:]))
	}
	return all
}

// body is the text of a checkpoint. The package knows signed notes, and only the checksum database's own trees.
func body(origin string, size int64, root tlog.Hash) string {
	return fmt.Sprintf("%s\n%d\n%s\n", origin, size, base64.StdEncoding.EncodeToString(root[:]))
}

func accepts(c claim) (bool, bool) {
	switch c.Kind {
	case "leaf":
		leaf := tlog.RecordHash([]byte(c.Entry))
		return tlog.CheckRecord(hashes(c.Proof), c.Size, hash(c.Root), c.Index, leaf) == nil, true
	case "growth":
		return tlog.CheckTree(hashes(c.Proof), c.New, hash(c.NewRoot), c.Old, hash(c.OldRoot)) == nil, true
	case "checkpoint":
		verifier := must(note.NewVerifier(c.Vkey))
		opened, err := note.Open([]byte(c.Note), note.VerifierList(verifier))
		return err == nil && opened.Text == body(c.Origin, c.Size, hash(c.Root)), true
	}
	return false, false
}

func check(out *json.Encoder) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var c claim
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			log.Fatal(err)
		}
		answers := map[string]bool{}
		if accepted, offered := accepts(c); offered {
			answers["x/mod/sumdb"] = accepted
		}
		out.Encode(answers)
	}
}

func make_(out *json.Encoder) {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var all []tlog.Hash
		for _, index := range indexes {
			all = append(all, stored[index])
		}
		return all, nil
	})
	roots := []tlog.Hash{{}}
	for size := int64(1); size <= 300; size++ {
		last := fmt.Sprintf("theirs %d", size-1)
		stored = append(stored, must(tlog.StoredHashes(size-1, []byte(last), reader))...)
		root := must(tlog.TreeHash(size, reader))
		roots = append(roots, root)
		index, old := (size*size+7)%size, (size*31+5)%size+1
		out.Encode(map[string]any{
			"kind": "leaf", "entry": fmt.Sprintf("theirs %d", index), "index": index, "size": size,
			"root": hex.EncodeToString(root[:]), "proof": texts(must(tlog.ProveRecord(size, index, reader))), "holds": true,
		})
		out.Encode(map[string]any{
			"kind": "growth", "old": old, "new": size, "old_root": hex.EncodeToString(roots[old][:]),
			"new_root": hex.EncodeToString(root[:]), "proof": texts(must(tlog.ProveTree(size, old, reader))), "holds": true,
		})
		origin := fmt.Sprintf("log.example/%d", size%9)
		seed := sha256.Sum256([]byte(origin))
		skey, vkey, err := note.GenerateKey(bytes.NewReader(seed[:]), origin)
		if err != nil {
			log.Fatal(err)
		}
		text := body(origin, size, root)
		signed := must(note.Sign(&note.Note{Text: text}, must(note.NewSigner(skey))))
		out.Encode(map[string]any{
			"kind": "checkpoint", "note": string(signed), "vkey": vkey, "origin": origin, "size": size,
			"root": hex.EncodeToString(root[:]), "holds": true,
		})
	}
}

func main() {
	log.SetFlags(0)
	buffered := bufio.NewWriter(os.Stdout)
	defer buffered.Flush()
	out := json.NewEncoder(buffered)
	out.SetEscapeHTML(false)
	switch {
	case len(os.Args) == 2 && os.Args[1] == "check":
		check(out)
	case len(os.Args) == 2 && os.Args[1] == "make":
		make_(out)
	default:
		log.Fatal("usage: oracle check < claims, or oracle make")
	}
}
