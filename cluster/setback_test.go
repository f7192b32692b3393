package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// record is a History with the values that a test chooses.
type record struct {
	index    atomic.Uint64
	setBack  atomic.Bool
	seals    atomic.Int64
	snapshot atomic.Value // content of the last judged snapshot
}

func (r *record) Position() position.Position {
	return position.Position{Index: r.index.Load(), Nonce: [16]byte{1}}
}
func (r *record) Judge(position.Position) (bool, string) { return r.setBack.Load(), "it differs" }
func (r *record) Sealed() bool                           { return r.seals.Load() > 0 }
func (r *record) Seal(context.Context, position.Position, string, string) error {
	r.seals.Add(1)
	return nil
}

func (r *record) JudgeSnapshot(snapshot io.Reader, _ position.Position) (bool, string) {
	raw, _ := io.ReadAll(snapshot)
	r.snapshot.Store(string(raw))
	return r.setBack.Load(), "it differs"
}

// recorded returns a node that leads alone and has committed an entry, and a peer that can send it messages.
func recorded(t *testing.T, change ...func(*Config)) (*Node, *record, *raft.InmemTransport) {
	t.Helper()
	r := &record{}
	mem := raft.NewInmemStore()
	_, inner := raft.NewInmemTransport("")
	_, peer := raft.NewInmemTransport("b")
	peer.Connect(inner.LocalAddr(), inner)
	n := openAlone(t, mem, mem, append([]func(*Config){func(c *Config) {
		c.History, c.Transport = r, inner
	}}, change...)...)
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	untilLeader(t, n)
	for n.leads.Load() == 0 {
		runtime.Gosched()
	}
	if _, err := n.Propose(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	return n, r, peer
}

// until waits for a condition that another goroutine makes true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(clusterkit.Patience); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("not true: " + what)
		}
	}
}

// The entries that a witness has stay as they are, whatever leaders and candidates send.
func TestWitnessKeepsItsLog(t *testing.T) {
	t.Parallel()
	n, _, peer := recorded(t)
	to, last, term := n.cfg.Transport.LocalAddr(), n.LastIndex(), n.Term()
	var had raft.Log
	if err := n.store.Logs.GetLog(last, &had); err != nil {
		t.Fatal(err)
	}
	appending := func(entries ...*raft.Log) error {
		return peer.AppendEntries("", to, &raft.AppendEntriesRequest{
			RPCHeader: clusterkit.Header(), Term: term + 1, PrevLogEntry: last - 1, PrevLogTerm: term, Entries: entries,
		}, &raft.AppendEntriesResponse{})
	}
	if err := appending(&had); err != nil { // a leader may send it again
		t.Fatalf("the entry that the member holds: %v", err)
	}
	if err := n.Contradiction(); err != nil {
		t.Fatal(err)
	}
	other := had
	other.Data = append([]byte("y"), had.Data...) // term unchanged
	if err := appending(&other); err == nil {
		t.Error("another entry of the same term is accepted")
	}
	select {
	case <-n.SetBack():
	default:
		t.Fatal("the member does not say that disks were set back")
	}
	if n.Failure() != nil {
		t.Errorf("the member halted: %v", n.Failure())
	}
	for what, err := range map[string]error{
		"a heartbeat": peer.AppendEntries("", to, &raft.AppendEntriesRequest{RPCHeader: clusterkit.Header(), Term: term + 2}, &raft.AppendEntriesResponse{}),
		"a candidate": peer.RequestVote("", to, &raft.RequestVoteRequest{RPCHeader: clusterkit.Header(), Term: term + 2, LastLogIndex: 1000, LastLogTerm: term + 1}, &raft.RequestVoteResponse{}),
		"a handover":  peer.TimeoutNow("", to, &raft.TimeoutNowRequest{RPCHeader: clusterkit.Header()}, &raft.TimeoutNowResponse{}),
	} {
		if err == nil {
			t.Errorf("the witness listens to %s", what)
		}
	}
	if n.guarded.StandForElection(t.Context()) {
		t.Error("the witness stands for election")
	}
	var has raft.Log
	if err := n.store.Logs.GetLog(last, &has); err != nil || !bytes.Equal(has.Data, had.Data) {
		t.Errorf("entry %d has changed: %v", last, err)
	}
}

// In an open cluster, a stranger's message stops no member.
func TestStrangerMakesNoWitness(t *testing.T) {
	t.Parallel()
	n := listening(t)
	lie := &raft.AppendEntriesRequest{RPCHeader: clusterkit.Header(), Term: n.Term() + 5, Entries: []*raft.Log{{Index: 1, Term: n.Term() + 5}}}
	if problem, err := ask(liar(t, n), askAppend, lie); err == nil && problem == "" {
		t.Error("raft took it")
	}
	if err := n.Contradiction(); err != nil {
		t.Error(err)
	}
}

func TestSnapshotOfAnotherHistoryIsRefused(t *testing.T) {
	t.Parallel()
	files, err := raft.NewFileSnapshotStore(t.TempDir(), 2, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	n, r, peer := recorded(t, func(c *Config) { c.Storage.Snapshots = files })
	to := n.cfg.Transport.LocalAddr()
	r.index.Store(n.AppliedIndex())
	until(t, "there is a watermark", func() bool { return n.watermark.Mark().Index > 0 })
	content := "a state"
	install := func() bool {
		request := &raft.InstallSnapshotRequest{
			RPCHeader: clusterkit.Header(), SnapshotVersion: 1, Term: n.Term() + 1, LastLogIndex: n.LastIndex() + 100, LastLogTerm: n.Term(), Size: int64(len(content)),
			Configuration: raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "b", Address: "b"}}}), ConfigurationIndex: 1,
		}
		var answer raft.InstallSnapshotResponse
		err := peer.InstallSnapshot("", to, request, &answer, bytes.NewBufferString(content))
		if got := r.snapshot.Load(); got != content {
			t.Errorf("judged %q, want %q", got, content)
		}
		return err == nil && answer.Success
	}
	if !install() || n.Contradiction() != nil {
		t.Fatalf("a snapshot of the same history is refused: %v", n.Contradiction())
	}
	r.setBack.Store(true)
	content = "another state"
	if install() || n.Contradiction() == nil {
		t.Error("a snapshot of another history is installed")
	}
	if all, err := n.store.Snapshots.List(); err != nil || len(all) != 1 || all[0].Size != int64(len("a state")) {
		t.Errorf("snapshots %+v, %v, want the first one", all, err)
	}
}

// The watermark moves along one history.
func TestWatermarkStaysAWitness(t *testing.T) {
	t.Parallel()
	n, r, _ := recorded(t, func(c *Config) { c.DataDir = t.TempDir() })
	r.index.Store(7)
	until(t, "the watermark is written", func() bool { return n.watermark.Mark().Index == 7 })
	if cluster := uuid.UUID(n.Mark().Cluster); cluster.String() != n.ClusterID() {
		t.Errorf("cluster %v, want %s", cluster, n.ClusterID())
	}
	r.setBack.Store(true)
	r.index.Store(9)
	if err := n.raiseWatermark(); err != nil || n.watermark.Mark().Index != 7 {
		t.Errorf("index %d of another history, %v, want 7", n.watermark.Mark().Index, err)
	}
}

func TestOnlyAVerifiedLeaderSeals(t *testing.T) {
	t.Parallel()
	n, r, _ := recorded(t)
	claim := n.Position()
	claim.Index = 5
	term := n.Term()
	if err := n.Claim(t.Context(), claim, "b"); err != nil || r.Sealed() {
		t.Errorf("%v, sealed over a claim that does not contradict: %v", err, r.Sealed())
	}
	r.setBack.Store(true)
	n.leads.Store(term + 1) // a leader that was replaced has an earlier term
	if err := n.Claim(t.Context(), claim, "b"); !errors.Is(err, ErrNotLeader) || r.Sealed() {
		t.Errorf("%v, sealed: %v", err, r.Sealed())
	}
	n.leads.Store(term)
	for what, foreign := range map[string]position.Position{"cluster": {Index: 5}, "life": {Cluster: claim.Cluster, Life: 3, Index: 5}} {
		if err := n.Claim(t.Context(), foreign, "b"); err != nil || r.Sealed() {
			t.Errorf("claim of another %s: %v, sealed: %v", what, err, r.Sealed())
		}
	}
	if err := n.Claim(t.Context(), claim, "b"); err != nil || r.seals.Load() == 0 {
		t.Errorf("%v, want a seal", err)
	}
}

// A leader whose own log was set back, but not its watermark, is a witness too.
func TestLeaderJudgesItsOwnWatermark(t *testing.T) {
	t.Parallel()
	n, r, _ := recorded(t)
	r.index.Store(5)
	until(t, "there is a watermark", func() bool { return n.watermark.Mark().Index == 5 })
	r.setBack.Store(true)
	until(t, "the history is sealed", r.Sealed)
}
