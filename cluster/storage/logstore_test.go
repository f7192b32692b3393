package storage

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/hashicorp/raft"
)

func entry(index, term uint64, data string) *raft.Log {
	return &raft.Log{Index: index, Term: term, Type: raft.LogCommand, Data: []byte(data)}
}

func newCheckedLog(reported *[]error) (*checkedLog, *raft.InmemStore) {
	in := raft.NewInmemStore()
	return &checkedLog{
		LogStore: in, path: "log", stored: func() error { return nil },
		corrupt: func(err error) { *reported = append(*reported, err) },
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
			var reported []error
			c, in := newCheckedLog(&reported)
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
			if err := c.GetLog(2, &l); !errors.As(err, &corrupt) {
				t.Errorf("get: %v", err)
			}
			if err := c.GetLog(1, &l); err != nil || string(l.Data) != "one" {
				t.Errorf("an intact neighbor: %v", err)
			}
		})
	}
}

func TestCheckedLogDetectsGapsAndForeignOrder(t *testing.T) {
	var reported []error
	c, in := newCheckedLog(&reported)
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
		t.Errorf("a decreasing term: %v", err)
	}
}

// indexes returns the indexes of the entries of a log.
func indexes(t *testing.T, logs raft.LogStore) (found []uint64) {
	t.Helper()
	for i := uint64(1); i < 20; i++ {
		var l raft.Log
		if err := logs.GetLog(i, &l); err == nil {
			found = append(found, i)
		} else if !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatal(err)
		}
	}
	return found
}

func TestScanRemovesReplacedEntries(t *testing.T) {
	for _, tc := range []struct {
		name    string
		stored  []uint64
		covered uint64
		want    []uint64 // nil: damage
	}{
		{"no snapshot", []uint64{1, 2, 3}, 0, []uint64{1, 2, 3}},
		{"a snapshot within", []uint64{3, 4, 5}, 4, []uint64{3, 4, 5}},
		{"a snapshot up to the end", []uint64{3, 4, 5}, 5, []uint64{3, 4, 5}},
		{"a snapshot beyond the end", []uint64{3, 4, 5}, 6, []uint64{}},
		{"a gap that a snapshot covers", []uint64{1, 2, 9, 10}, 8, []uint64{9, 10}},
		{"a gap within what a snapshot covers", []uint64{1, 2, 7, 8, 9, 10}, 8, []uint64{7, 8, 9, 10}},
		{"two gaps", []uint64{1, 4, 5, 7, 8}, 6, []uint64{7, 8}},
		{"a gap that a snapshot does not cover wholly", []uint64{1, 2, 9, 10}, 7, nil},
		{"a gap behind a snapshot", []uint64{3, 4, 9, 10}, 4, nil},
		{"a snapshot right before the log", []uint64{9, 10}, 8, []uint64{9, 10}},
		{"a missing snapshot", []uint64{9, 10}, 7, nil},
		{"no snapshot at all", []uint64{2, 3}, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var reported []error
			c, in := newCheckedLog(&reported)
			for _, i := range tc.stored {
				if err := c.StoreLog(entry(i, i, "x")); err != nil {
					t.Fatal(err)
				}
			}
			err := c.scan(tc.covered)
			switch {
			case tc.want == nil:
				if _, ok := errors.AsType[*CorruptError](err); !ok {
					t.Errorf("%v", err)
				}
			case err != nil:
				t.Error(err)
			default:
				if got := indexes(t, in); !slices.Equal(got, tc.want) {
					t.Errorf("left: %v, want %v", got, tc.want)
				}
			}
		})
	}
}

// upTo is a store of snapshots with a given index of the newest one.
type upTo struct {
	raft.SnapshotStore
	index uint64
}

func (u upTo) List() ([]*raft.SnapshotMeta, error) {
	return []*raft.SnapshotMeta{{Index: u.index}, {}}, nil
}

func TestGaplessLog(t *testing.T) {
	var reported []error
	c, _ := newCheckedLog(&reported)
	cache, err := raft.NewLogCache(8, c)
	if err != nil {
		t.Fatal(err)
	}
	logs := &gaplessLog{LogStore: cache, snapshots: upTo{index: 8}, fail: func(err error) { reported = append(reported, err) }}
	store := func(all ...uint64) error {
		var entries []*raft.Log
		for _, i := range all {
			entries = append(entries, entry(i, i, "x"))
		}
		return logs.StoreLogs(entries)
	}
	has := func(what string, want ...uint64) {
		t.Helper()
		if got := indexes(t, logs); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	if err := errors.Join(store(), store(1, 2), store(3)); err != nil {
		t.Fatal(err)
	}
	has("entries that follow each other", 1, 2, 3)
	if _, ok := errors.AsType[*CorruptError](store(10)); !ok {
		t.Error("entry 9 is missing, and in no snapshot")
	}
	if len(reported) != 1 {
		t.Errorf("reported for the gap: %v, want one error", reported)
	}
	has("after a refusal", 1, 2, 3)
	if err := store(9, 10); err != nil {
		t.Fatal(err)
	}
	has("entries behind a snapshot", 9, 10)
	if err := errors.Join(logs.DeleteRange(10, 10), store(10, 11)); err != nil {
		t.Fatal(err)
	}
	has("entries in place of others", 9, 10, 11)
}

// unreadableLog is a log whose last index cannot be read.
type unreadableLog struct{ raft.LogStore }

func (unreadableLog) LastIndex() (uint64, error) {
	return 0, &brokenPages{reason: "page fault", unreadable: true}
}

// Raft treats an error of StoreLogs as a refusal and continues, so the log must report the error.
func TestGaplessLogReportsReadErrors(t *testing.T) {
	var reported error
	logs := &gaplessLog{LogStore: unreadableLog{raft.NewInmemStore()}, fail: func(err error) { reported = err }}
	if err := logs.StoreLog(entry(1, 1, "x")); err == nil {
		t.Error("stored")
	}
	if e, ok := errors.AsType[*DiskError](reported); !ok || !e.Reading {
		t.Errorf("reported: %v, want a DiskError of a read", reported)
	}
}

func TestCheckedLogRefusesDamageFromTheLeader(t *testing.T) {
	var reported []error
	c, _ := newCheckedLog(&reported)
	l := entry(1, 1, "one")
	if err := c.StoreLog(l); err != nil {
		t.Fatal(err)
	}
	replica, in := newCheckedLog(&reported)
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
		t.Errorf("GetUint64() = %v, want the text by which raft recognizes an absent value", err)
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
	// A value that was stored under another key is refused.
	if err := in.Set([]byte("LastVoteTerm"), raw); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetUint64([]byte("LastVoteTerm")); !errors.As(err, &corrupt) {
		t.Errorf("another key's value: %v", err)
	}
}
