package cluster

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

func entry(index, term uint64, data string) *raft.Log {
	return &raft.Log{Index: index, Term: term, Type: raft.LogCommand, Data: []byte(data)}
}

func newCheckedLog(told *[]error) (*checkedLog, *raft.InmemStore) {
	in := raft.NewInmemStore()
	return &checkedLog{
		LogStore: in, path: "log", stored: func() error { return nil },
		corrupt: func(err error) { *told = append(*told, err) },
	}, in
}

func TestCheckedLogDetectsWhatChanged(t *testing.T) {
	for name, damage := range map[string]func(*raft.Log){
		"data":       func(l *raft.Log) { l.Data = []byte("twp") },
		"term":       func(l *raft.Log) { l.Term++ },
		"type":       func(l *raft.Log) { l.Type = raft.LogNoop },
		"checksum":   func(l *raft.Log) { l.Extensions = bytes.Clone(l.Extensions); l.Extensions[0] ^= 1 },
		"no sum":     func(l *raft.Log) { l.Extensions = nil },
		"other slot": func(l *raft.Log) { *l = *entry(3, 1, "three"); l.Extensions = []byte{0, 0, 0, 0} },
	} {
		t.Run(name, func(t *testing.T) {
			var told []error
			c, in := newCheckedLog(&told)
			if err := c.StoreLogs([]*raft.Log{entry(1, 1, "one"), entry(2, 1, "two"), entry(3, 1, "three")}); err != nil {
				t.Fatal(err)
			}
			if err := c.scan(0); err != nil {
				t.Fatal(err)
			}
			var l raft.Log
			if err := in.GetLog(2, &l); err != nil {
				t.Fatal(err)
			}
			damage(&l)
			l.Index = 2
			if err := in.StoreLog(&l); err != nil {
				t.Fatal(err)
			}
			var corrupt *CorruptError
			if err := c.scan(0); !errors.As(err, &corrupt) {
				t.Errorf("scan: %v", err)
			}
			if err := c.GetLog(2, &l); !errors.As(err, &corrupt) || len(told) != 1 {
				t.Errorf("get: %v, told %v", err, told)
			}
			if err := c.GetLog(1, &l); err != nil || string(l.Data) != "one" {
				t.Errorf("a sound neighbour: %v", err)
			}
		})
	}
}

func TestCheckedLogDetectsGapsAndForeignOrder(t *testing.T) {
	var told []error
	c, in := newCheckedLog(&told)
	for i := uint64(1); i <= 5; i++ {
		if err := c.StoreLog(entry(i, i, "x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.DeleteRange(3, 3); err != nil {
		t.Fatal(err)
	}
	var corrupt *CorruptError
	if err := c.scan(0); !errors.As(err, &corrupt) {
		t.Errorf("a gap: %v", err)
	}
	if err := c.StoreLog(entry(3, 1, "an older term")); err != nil {
		t.Fatal(err)
	}
	if err := c.scan(0); !errors.As(err, &corrupt) {
		t.Errorf("a term that goes back: %v", err)
	}
}

func TestCheckedLogRefusesDamageFromTheLeader(t *testing.T) {
	var told []error
	c, _ := newCheckedLog(&told)
	l := entry(1, 1, "one")
	if err := c.StoreLog(l); err != nil {
		t.Fatal(err)
	}
	replica, in := newCheckedLog(&told)
	damaged := *l
	damaged.Data = []byte("onf")
	if err := replica.StoreLog(&damaged); err == nil {
		t.Error("stored")
	}
	if last, _ := in.LastIndex(); last != 0 {
		t.Error("something was stored")
	}
	if err := replica.StoreLog(l); err != nil {
		t.Error(err)
	}
}

func TestCheckedStable(t *testing.T) {
	in := raft.NewInmemStore()
	c := &checkedStable{StableStore: in, path: "log", stored: func() error { return nil }, corrupt: func(err error) { t.Error(err) }}
	if _, err := c.GetUint64([]byte("CurrentTerm")); err == nil || err.Error() != "not found" {
		t.Errorf("raft knows an absent value by this very text: %v", err)
	}
	if err := c.SetUint64([]byte("CurrentTerm"), 1<<63+7); err != nil {
		t.Fatal(err)
	}
	if v, err := c.GetUint64([]byte("CurrentTerm")); v != 1<<63+7 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	raw, err := in.Get([]byte("CurrentTerm"))
	if err != nil {
		t.Fatal(err)
	}
	var corrupt *CorruptError
	for i := range raw {
		bad := bytes.Clone(raw)
		bad[i] ^= 0x10
		if err := in.Set([]byte("CurrentTerm"), bad); err != nil {
			t.Fatal(err)
		}
		if _, err := c.GetUint64([]byte("CurrentTerm")); !errors.As(err, &corrupt) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	// A value under another key is not taken for this one's.
	if err := in.Set([]byte("LastVoteTerm"), raw); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetUint64([]byte("LastVoteTerm")); !errors.As(err, &corrupt) {
		t.Errorf("another key's value: %v", err)
	}
}
