//go:build process

package processtest

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/sequence"
)

// codes issues and decodes codes in each way, and looks at what is said of their sequence.
func (s *secretive) codes(t *testing.T, flags []string) {
	t.Helper()
	const create = "seq create vouchers --mode strict --format V-{code:base32:8}{check:crockford}"
	run := func(args ...string) string {
		stdout, stderr, code := command(t, at(s.members[1]), append(args, flags...)...)
		if code != 0 {
			t.Errorf("%q: %s", args, stderr)
		}
		s.add("snowraft "+args[0]+" "+args[1]+" of codes", []byte(stdout+stderr))
		return strings.TrimSpace(stdout)
	}
	run(strings.Fields(create)...)
	text := run("seq", "next", "vouchers")
	run("seq", "decode", "vouchers", text)
	run("seq", "decode", "vouchers", text, "-o", "json")
	run("seq", "get", "vouchers", "-o", "json")
	run("seq", "list", "-o", "json")
	stdout, stderr, _ := command(t, at(s.members[1]), append([]string{"seq", "decode", "vouchers", text + "0"}, flags...)...)
	s.add("a refused text", []byte(stdout+stderr))
}

// ofState marks the secret of codes and the key of a sequence, which a backup and the files of members have, and nothing else.
func (s *secretive) ofState(t *testing.T, file string) {
	t.Helper()
	b, err := backup.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	secret, known := b.State.CodeSecret()
	if !known {
		t.Fatal("the backup has no secret of codes")
	}
	key, err := hkdf.Key(sha256.New, secret[:], nil, "snowraft codes of sequence vouchers", sequence.CodeKeyBytes)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(s.out["a backup"], secret[:]) {
		t.Error("the search did not find the secret of codes in a backup, which has it")
	}
	state := marked{"the secret of codes": secret[:], "the key of a sequence": key}
	for where, out := range s.out {
		_, name, ofMember := strings.Cut(where, "/")
		if ofMember && (name == "state.bin" || name == "raft.db") || strings.HasPrefix(where, "a backup") {
			continue
		}
		state.search(t, where, out)
	}
}
