package fsm

import (
	"bytes"
	"errors"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// TestDigestCoversTokens changes one thing at a time.
func TestDigestCoversTokens(t *testing.T) {
	seen := map[[32]byte]string{sampleTokens(t).Digest(): "the sample"}
	for name, edit := range map[string]func(*TokenRecord){
		"id":         func(r *TokenRecord) { r.ID++ },
		"generation": func(r *TokenRecord) { r.Generation++ },
		"narrowed":   func(r *TokenRecord) { r.narrowed++ },
		"name":       func(r *TokenRecord) { r.Name += "x" },
		"hash":       func(r *TokenRecord) { r.Hash[31]++ },
		"scopes":     func(r *TokenRecord) { r.Scopes = append(r.Scopes, "x") },
		"a scope":    func(r *TokenRecord) { r.Scopes = []string{"x"} },
		"created":    func(r *TokenRecord) { r.CreatedMillis++ },
		"expires":    func(r *TokenRecord) { r.ExpiresAtMillis++ },
		"rate":       func(r *TokenRecord) { r.Rate++ },
		"burst":      func(r *TokenRecord) { r.Burst++ },
	} {
		s := sampleTokens(t)
		edit(s.tokens.byID[0])
		if other, ok := seen[s.Digest()]; ok {
			t.Errorf("%s: the same digest as %s", name, other)
		}
		seen[s.Digest()] = name
	}
	s := sampleTokens(t)
	s.tokens.anonymous.Scopes = nil
	if other, ok := seen[s.Digest()]; ok {
		t.Errorf("anonymous callers: the same digest as %s", other)
	}
}

// TestSnapshotRefusesTokensThatNoStateWrites reads snapshots with correct checksums.
func TestSnapshotRefusesTokensThatNoStateWrites(t *testing.T) {
	data := snapshotBytes(t, sampleTokens(t))
	type records = []*commandv1.SnapshotRecord
	// The records: meta, a member, anonymous callers, the tokens billing and console, a sequence.
	const anonymous, billing, console = 2, 3, 4
	token := func(i int, edit func(*commandv1.SnapshotToken)) func(records) records {
		return func(r records) records { edit(r[i].GetToken()); return r }
	}
	for name, edit := range map[string]func(r records) records{
		"tokens out of order":      func(r records) records { r[billing], r[console] = r[console], r[billing]; return r },
		"a token twice":            func(r records) records { return append(r[:4:4], r[3:]...) },
		"anonymous twice":          func(r records) records { return append(r[:3:3], r[2:]...) },
		"anonymous after a token":  func(r records) records { r[anonymous], r[billing] = r[billing], r[anonymous]; return r },
		"a token after a sequence": func(r records) records { r[4], r[5] = r[5], r[4]; return r },
		"a token before a member":  func(r records) records { r[1], r[2] = r[2], r[1]; return r },
		"a name twice":             token(console, func(m *commandv1.SnapshotToken) { m.Name = "billing" }),
		"a wrong name":             token(console, func(m *commandv1.SnapshotToken) { m.Name = "a/b" }),
		"no name":                  token(console, func(m *commandv1.SnapshotToken) { m.Name = "" }),
		"a short hash":             token(console, func(m *commandv1.SnapshotToken) { m.Hash = m.GetHash()[1:] }),
		"a wrong scope":            token(billing, func(m *commandv1.SnapshotToken) { m.Scopes[0] = "" }),
		"no burst":                 token(billing, func(m *commandv1.SnapshotToken) { m.Burst = 0 }),
		"a negative expiry":        token(billing, func(m *commandv1.SnapshotToken) { m.ExpiresAtMs = -1 }),
		"changed before it was":    token(console, func(m *commandv1.SnapshotToken) { m.Generation = m.GetId() - 1 }),
		"narrowed before it was":   token(console, func(m *commandv1.SnapshotToken) { m.Narrowed = m.GetId() - 1 }),
		"narrowed after a change":  token(billing, func(m *commandv1.SnapshotToken) { m.Narrowed = m.GetGeneration() + 1 }),
		"anonymous with a name":    token(anonymous, func(m *commandv1.SnapshotToken) { m.Name = "anonymous" }),
		"anonymous with a hash":    token(anonymous, func(m *commandv1.SnapshotToken) { m.Hash = make([]byte, 32) }),
		"anonymous that expires":   token(anonymous, func(m *commandv1.SnapshotToken) { m.ExpiresAtMs = 5 }),
		"anonymous of no change":   token(anonymous, func(m *commandv1.SnapshotToken) { m.Generation = 0 }),
	} {
		if s, err := ReadState(bytes.NewReader(reseal(t, data, edit)), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, s != nil, err)
		}
	}
}
