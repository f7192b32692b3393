package storage

import (
	"io"
	"testing"

	"github.com/hashicorp/raft"
)

func TestCheckedSnapshots(t *testing.T) {
	dir := t.TempDir()
	files, err := raft.NewFileSnapshotStore(dir, snapshotsRetained, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c := &checkedSnapshots{SnapshotStore: files, path: dir + "/" + snapshotDir}
	_, trans := raft.NewInmemTransport("")
	conf := raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "x:1"}, {Suffrage: raft.Nonvoter, ID: "b", Address: "x:2"}}}
	sink, err := c.Create(1, 42, 7, conf, 40, trans)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Write([]byte("state")); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	metas, err := c.List()
	if err != nil || len(metas) != 1 || metas[0].Size != 5 {
		t.Fatalf("%+v, %v", metas, err)
	}
	meta, content, err := c.Open(metas[0].ID)
	if err != nil || meta.Size != 5 {
		t.Fatalf("%+v, %v", meta, err)
	}
	if got, err := io.ReadAll(content); string(got) != "state" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	_ = content.Close()
	if covered, err := c.scan(); covered != 42 || err != nil {
		t.Errorf("up to %d, %v", covered, err)
	}
}

func TestSnapshotSumCoversVoters(t *testing.T) {
	meta := func() *raft.SnapshotMeta {
		return &raft.SnapshotMeta{Index: 42, Term: 7, ConfigurationIndex: 40, Configuration: raft.Configuration{
			Servers: []raft.Server{{ID: "a", Address: "x:1"}, {ID: "b", Address: "x:2"}}}}
	}
	want := snapshotSum(meta())
	for name, change := range map[string]func(*raft.SnapshotMeta){
		"index":    func(m *raft.SnapshotMeta) { m.Index++ },
		"term":     func(m *raft.SnapshotMeta) { m.Term++ },
		"config":   func(m *raft.SnapshotMeta) { m.ConfigurationIndex++ },
		"suffrage": func(m *raft.SnapshotMeta) { m.Configuration.Servers[1].Suffrage = raft.Nonvoter },
		"id":       func(m *raft.SnapshotMeta) { m.Configuration.Servers[1].ID = "c" },
		"address":  func(m *raft.SnapshotMeta) { m.Configuration.Servers[1].Address = "x:3" },
		"gone":     func(m *raft.SnapshotMeta) { m.Configuration.Servers = m.Configuration.Servers[:1] },
	} {
		m := meta()
		change(m)
		if snapshotSum(m) == want {
			t.Errorf("%s is not covered", name)
		}
	}
}
