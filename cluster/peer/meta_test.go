package peer

import (
	"testing"

	"github.com/google/uuid"
)

func FuzzDecodeMeta(f *testing.F) {
	f.Add(someMeta().Encode())
	f.Add([]byte(`{"i":"x"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := DecodeMeta(raw)
		if err != nil {
			return
		}
		if uuid.Validate(m.ID) != nil || m.Raft == "" || len(raw) > MaxMeta {
			t.Errorf("took %q for %+v", raw, m)
		}
	})
}

// Texts that a terminal could obey, and names that no member can have, are refused on arrival.
func TestMetaIsVisible(t *testing.T) {
	const escape = "x\x1b[2J"
	for name, plant := range map[string]func(*Meta){
		"name":             func(m *Meta) { m.Name = escape },
		"name with spaces": func(m *Meta) { m.Name = "a\nb" },
		"no name":          func(m *Meta) { m.Name = "" },
		"reserved name":    func(m *Meta) { m.Name = "$system" },
		"process":          func(m *Meta) { m.Process = escape },
		"Raft address":     func(m *Meta) { m.Raft = escape },
		"API address":      func(m *Meta) { m.API = escape },
		"gossip address":   func(m *Meta) { m.Gossip = "\u202e" + m.Gossip },
		"version":          func(m *Meta) { m.Version = escape },
		"fingerprints":     func(m *Meta) { m.Keys = escape },
		"quorum":           func(m *Meta) { m.Quorum = "\u009b2J" },
		"silent voters":    func(m *Meta) { m.Silent = escape },
	} {
		m := someMeta()
		plant(&m)
		if _, err := DecodeMeta(m.Encode()); err == nil {
			t.Errorf("%s: %+v was taken", name, m)
		}
	}
}

func TestMetaRoundTrip(t *testing.T) {
	m := someMeta()
	got, err := DecodeMeta(m.Encode())
	if err != nil || got != m {
		t.Errorf("%+v, %v", got, err)
	}
}

func someMeta() Meta {
	return Meta{ID: uuid.NewString(), Name: "a", Cluster: uuid.NewString(), Starts: 3, Process: NewProcess(), Raft: "127.0.0.1:1", API: "127.0.0.1:2", Gossip: "127.0.0.1:3", Commands: 1}
}
