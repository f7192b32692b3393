package raftlog_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/snowflake"
)

func TestDamagedEntriesAreSkipped(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	logs := terms(1, 1, 1, 1, 1)
	logs[1].Extensions = []byte{1, 2, 3, 4}
	logs[2].Extensions = []byte{}
	s := r.harvest("n1", dataDir(t, logs...))
	if s.Damaged != 2 || s.FirstDamaged != 2 || s.Entries != 2 || s.Last != 4 {
		t.Errorf("harvest = %+v, want entries 2 and 3 damaged and 4 the last", s)
	}
	r.harvest("n2", dataDir(t, terms(1, 1, 1, 1, 1)...))
	clean(t, r.open(), 1, 1, 1, 1)
}

func TestDamagedPages(t *testing.T) {
	t.Parallel()
	var ones []uint64
	for range 1000 {
		ones = append(ones, 1)
	}
	whole, err := os.ReadFile(filepath.Join(dataDir(t, terms(1, ones...)...), "raft.db"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(t)
	for at := 0; at < len(whole); at += 8192 {
		damaged := append([]byte(nil), whole...)
		for i := range damaged[at:min(at+4096, len(damaged))] {
			damaged[at+i] ^= 0xa5
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "raft.db"), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		r.harvest("n1", dir) // any outcome but a panic or an error
	}
	cut := t.TempDir()
	if err := os.WriteFile(filepath.Join(cut, "raft.db"), whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if s := r.harvest("n1", cut); s.Problem == "" && s.Damaged == 0 {
		t.Errorf("half of raft.db: %+v, want damage", s)
	}
	r.harvest("n1", dataDir(t, terms(1, ones...)...))
	clean(t, r.open(), ones...)
}

func TestHarvestWithoutLog(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	if s := r.harvest("n1", t.TempDir()); s.Entries != 0 || s.Problem != "" {
		t.Errorf("harvest = %+v, want no entry and no problem", s)
	}
	if _, err := r.Harvest("n1", 1, filepath.Join(t.TempDir(), "x")); err == nil {
		t.Error("Harvest() of a missing copy succeeded")
	}
	if _, err := raftlog.Create(r.dir, 1); err == nil {
		t.Error("Create() over an archive succeeded")
	}
}

func TestDamagedSnapshots(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	dir := dataDir(t, terms(1, 1, 1)...)
	bad := snapshot(t, dir, 2, 9)
	if err := os.WriteFile(filepath.Join(bad, "state.bin"), []byte("four and more"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "snapshots", "1-1-1.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s := r.harvest("n1", dir); s.DamagedSnapshots != 1 || len(s.Snapshots) != 0 {
		t.Errorf("harvest = %+v, want 1 damaged snapshot and no other", s)
	}
}

// TestStatesOfSnapshots harvests the state of a complete snapshot, and none of a damaged or incomplete one.
func TestStatesOfSnapshots(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, terms(1, 1, 1)...)
	store, err := raft.NewFileSnapshotStore(dir, 2, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	_, trans := raft.NewInmemTransport("")
	sink, err := store.Create(1, 2, 1, raft.Configuration{}, 1, trans)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Write(binary.BigEndian.AppendUint32(nil, crc32.Checksum([]byte("2 1 1"), crc32.MakeTable(crc32.Castagnoli)))); err != nil {
		t.Fatal(err)
	}
	state := fsm.NewState()
	if _, err := state.WriteTo(sink); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	r := newRun(t)
	digest := state.Digest()
	want := []raftlog.State{{Index: 2, Digest: hex.EncodeToString(digest[:])}}
	for range 2 { // the second harvest uses the known state
		if s := r.harvest("n1", dir); !slices.Equal(s.States, want) || len(s.Snapshots) != 1 || s.DamagedSnapshots+s.DamagedStates != 0 {
			t.Errorf("harvest = %+v, want the states %+v", s, want)
		}
	}
	contents, err := filepath.Glob(filepath.Join(dir, "snapshots", "*", "state.bin"))
	if err != nil || len(contents) != 1 {
		t.Fatal(contents, err)
	}
	raw, err := os.ReadFile(contents[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] ^= 1
	if err := os.WriteFile(contents[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := r.harvest("n2", dir); len(s.States) != 0 || len(s.Snapshots) != 1 || s.DamagedStates != 1 {
		t.Errorf("harvest of damaged content = %+v, want 1 damaged state", s)
	}
	if err := os.Truncate(contents[0], 4); err != nil {
		t.Fatal(err)
	}
	if s := r.harvest("n3", dir); len(s.States) != 0 || len(s.Snapshots) != 1 || s.DamagedSnapshots+s.DamagedStates != 0 {
		t.Errorf("harvest of partial content = %+v, want a snapshot without a state and no damage", s)
	}
	digests := 0
	for a, err := range r.open().Replay() {
		if err != nil {
			t.Fatal(err)
		}
		if a.Digest != "" {
			digests++
			if a.Index != 2 || a.Digest != want[0].Digest {
				t.Errorf("Replay() has the digest %s at entry %d, want %s at entry 2", a.Digest, a.Index, want[0].Digest)
			}
		}
	}
	if digests != 1 {
		t.Errorf("Replay() has %d digests, want 1", digests)
	}
}

// TestArchiveOfKilledHarness opens an archive with a truncated last record, which a killed harness can leave, and a damaged
// archive.
func TestArchiveOfKilledHarness(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.harvest("n1", dataDir(t, terms(1, 1, 1)...))
	path := filepath.Join(r.dir, "raft", "entries.bin")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	r.harvest("n1", dataDir(t, terms(1, 1, 1, 2)...))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()+20); err != nil {
		t.Fatal(err)
	}
	l, err := raftlog.Open(r.dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, l, 1, 1)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[30] ^= 1
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := raftlog.Open(r.dir, 1); err == nil {
		t.Error("Open() of a damaged archive succeeded")
	}
}

// TestHarvestOfMember harvests the data directory of a real member, and replays its log to the windows that it was granted.
func TestHarvestOfMember(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gossip, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{"127.0.0.1"}, Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := member.Open(member.Config{
		Cluster: cluster.Config{
			Name: "a", DataDir: dir, RaftListener: l, RaftAddress: l.Addr().String(),
			Gossip: gossip, GossipHost: "127.0.0.1", GossipPort: gossip.GetAutoBindPort(), BootstrapExpect: 1,
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); m.Ready() != nil; {
		if time.Now().After(deadline) {
			t.Fatal(m.Ready())
		}
		select {
		case <-m.State().Changed():
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := newRun(t)
	s := r.harvest("a", dir)
	if s.Problem != "" || s.Damaged != 0 || s.First != 1 {
		t.Fatalf("harvest = %+v, want an undamaged log from entry 1", s)
	}
	got := r.open()
	if len(got.Violations) > 0 || len(got.Incomplete) > 0 || got.Final != s.Last {
		t.Fatalf("Open() = %+v, want a complete log up to entry %d", got, s.Last)
	}
	kinds := map[raft.LogType]int{}
	for e, err := range got.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		kinds[e.Type]++
		if e.Type != raft.LogConfiguration {
			continue
		}
		if c, err := e.Configuration(); err != nil || len(c.Servers) != 1 || c.Servers[0].Suffrage != raft.Voter {
			t.Errorf("Configuration() = %+v, %v, want one voter", c, err)
		}
	}
	if kinds[raft.LogConfiguration] == 0 || kinds[raft.LogNoop] == 0 || kinds[raft.LogCommand] < 2 {
		t.Errorf("numbers of entries by type = %v, want all three types", kinds)
	}
	g, err := got.Grants()
	if err != nil {
		t.Fatal(err)
	}
	windows := g.Windows[raftlog.Lane{Layout: snowflake.Default().Name()}]
	if len(windows) != 1 || windows[0].Holder != "a/0" || !windows[0].Released {
		t.Errorf("windows = %+v, want one of holder a/0, released", windows)
	}
	if _, err := (raftlog.Entry{Type: raft.LogConfiguration, Data: []byte{1}}).Configuration(); err == nil || errors.Is(err, raftlog.ErrIncomplete) {
		t.Errorf("Configuration() of invalid data: %v, want another error", err)
	}
}
