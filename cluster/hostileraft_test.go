package cluster

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/screen"
)

// listening returns a node that leads alone and has a Raft port.
func listening(t *testing.T) *Node {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mem := raft.NewInmemStore()
	n := openAlone(t, mem, mem, func(c *Config) {
		c.Transport, c.RaftListener, c.RaftAddress = nil, listener, listener.Addr().String()
		c.Admit = func(l *raft.Log) error {
			if string(l.Data) == "undecodable" {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
	})
	t.Cleanup(func() { _ = n.Close(t.Context()) })
	untilLeader(t, n)
	for n.leads.Load() == 0 {
		runtime.Gosched()
	}
	if _, err := n.Propose(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	return n
}

// liar is a stranger that has completed the handshake of a member.
func liar(t *testing.T, n *Node) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", n.cfg.RaftAddress)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	from := someMeta()
	from.Cluster = n.ClusterID()
	if _, err := greet(conn, hello{From: from, To: n.ID()}); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// The types of raft's requests, from its net_transport.go.
const (
	askAppend = iota
	askVote
	askSnapshot
)

// ask sends a liar's request and returns raft's answer; an error if there is none.
func ask(conn net.Conn, kind byte, request any) (problem string, err error) {
	said := bytes.NewBuffer([]byte{kind})
	handle := &codec.MsgpackHandle{}
	handle.TimeNotBuiltin = true
	if err := codec.NewEncoder(said, handle).Encode(request); err != nil {
		return "", err
	}
	if _, err := conn.Write(said.Bytes()); err != nil {
		return "", err
	}
	return problem, codec.NewDecoder(conn, &codec.MsgpackHandle{}).Decode(&problem)
}

func head() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, Addr: []byte("a@h:1")}
}

// A liar's message is refused with an error or by closing the connection, and the node keeps working.
func TestRaftPortRefusesImplausible(t *testing.T) {
	t.Parallel()
	n := listening(t)
	term := n.Term()
	last := n.raft.LastIndex()
	lastTerm := term
	entry := func(index, term uint64, kind raft.LogType, data []byte) []*raft.Log {
		return []*raft.Log{{Index: index, Term: term, Type: kind, Data: data}}
	}
	appending := func(term uint64, entries []*raft.Log) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{RPCHeader: head(), Term: term, PrevLogEntry: last, PrevLogTerm: lastTerm, Entries: entries}
	}
	good := raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "a@h:1"}}})
	installing := func(index uint64, version raft.SnapshotVersion, configuration []byte, size int64) *raft.InstallSnapshotRequest {
		return &raft.InstallSnapshotRequest{
			RPCHeader: head(), SnapshotVersion: version, Term: term + 1, LastLogIndex: index, LastLogTerm: term,
			Configuration: configuration, ConfigurationIndex: 1, Size: size,
		}
	}
	for name, c := range map[string]struct {
		kind    byte
		request any
	}{
		"vote in the last term": {askVote, &raft.RequestVoteRequest{
			RPCHeader: head(), Term: math.MaxUint64 - 1, LastLogIndex: math.MaxUint64, LastLogTerm: math.MaxUint64, LeadershipTransfer: true,
		}},
		"entries in the last term":             {askAppend, appending(math.MaxUint64, nil)},
		"no entry":                             {askAppend, appending(term+1, []*raft.Log{nil})},
		"entry after a gap":                    {askAppend, &raft.AppendEntriesRequest{RPCHeader: head(), Term: term + 1, Entries: entry(1<<40, term, raft.LogCommand, nil)}},
		"entry of a later term":                {askAppend, appending(term+1, entry(last+1, term+2, raft.LogCommand, nil))},
		"entry instead of a committed one":     {askAppend, &raft.AppendEntriesRequest{RPCHeader: head(), Term: term + 5, Entries: entry(1, term+5, raft.LogCommand, nil)}},
		"entry of peers":                       {askAppend, appending(term+1, entry(last+1, term+1, raft.LogAddPeerDeprecated, []byte("x")))},
		"entry that cannot be decoded":         {askAppend, appending(term+1, entry(last+1, term+1, raft.LogCommand, []byte("undecodable")))},
		"entry of an unknown type":             {askAppend, appending(term+1, entry(last+1, term+1, 77, nil))},
		"broken configuration":                 {askAppend, appending(term+1, entry(last+1, term+1, raft.LogConfiguration, []byte("x")))},
		"empty configuration":                  {askAppend, appending(term+1, entry(last+1, term+1, raft.LogConfiguration, []byte{0x80}))},
		"snapshot with a broken configuration": {askSnapshot, installing(last+1, 1, []byte("x"), 0)},
		"snapshot of version 0":                {askSnapshot, installing(last+1, 0, good, 0)},
		"snapshot of absurd size":              {askSnapshot, installing(last+1, 1, good, math.MaxInt64)},
		"snapshot of negative size":            {askSnapshot, installing(last+1, 1, good, -1)},
		"snapshot of what is long applied":     {askSnapshot, installing(1, 1, good, 0)},
		"snapshot up to the last index":        {askSnapshot, installing(math.MaxUint64, 1, good, 0)},
	} {
		problem, err := ask(liar(t, n), c.kind, c.request)
		if err == nil && problem == "" {
			t.Errorf("%s: raft took it", name)
		}
		if n.Term() != term || !n.IsLeader() {
			t.Fatalf("%s: term %d, want %d; leads: %t", name, n.Term(), term, n.IsLeader())
		}
	}
	if _, err := n.Propose(t.Context(), []byte("y")); err != nil {
		t.Error(err)
	}
	if _, err := n.Propose(t.Context(), make([]byte, screen.MaxCommand+1)); err == nil {
		t.Error("a command was proposed that followers refuse")
	}
}

// A message closes the connection if raft's decoder would allocate too much for its few bytes, or recurse into it.
func TestRaftPortRefusesForeignForm(t *testing.T) {
	t.Parallel()
	n := listening(t)
	for name, said := range map[string]string{
		"text without end":    "\x00\x81\xa6Leader\xdb\x7f\xff\xff\xff",
		"entries without end": "\x00\x81\xa7Entries\xdd\xff\xff\xff\xff",
		"nested lists":        "\x00\x81\xa1x" + string(bytes.Repeat([]byte{0x91}, 1<<20)),
		"another request":     "\x09\x80",
	} {
		conn := liar(t, n)
		_, _ = conn.Write([]byte(said))
		if got, err := io.ReadAll(conn); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: answered with %q, %v", name, got, err)
		}
	}
	if _, err := n.Propose(t.Context(), []byte("y")); err != nil {
		t.Error(err)
	}
}

// A stranger at a member's address cannot raise a candidate's term to the greatest number.
func TestAnswersInAbsurdTermAreRefused(t *testing.T) {
	t.Parallel()
	_, inner := raft.NewInmemTransportWithTimeout("a", patience)
	_, stranger := raft.NewInmemTransport("b")
	inner.Connect("b", stranger)
	ready := make(chan struct{})
	close(ready)
	const wall = 1_800_000_000_000
	g := newGuarded(inner, ready, func() bounds { return bounds{term: 7, wall: wall} },
		func(raft.ServerID, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {}, func(any) {}, func(error) {})
	defer g.Close()
	var said uint64
	go func() {
		for rpc := range stranger.Consumer() {
			switch rpc.Command.(type) {
			case *raft.RequestVoteRequest:
				rpc.Respond(&raft.RequestVoteResponse{Term: said}, nil)
			case *raft.RequestPreVoteRequest:
				rpc.Respond(&raft.RequestPreVoteResponse{Term: said}, nil)
			case *raft.AppendEntriesRequest:
				rpc.Respond(&raft.AppendEntriesResponse{Term: said}, nil)
			case *raft.InstallSnapshotRequest:
				rpc.Respond(&raft.InstallSnapshotResponse{Term: said}, nil)
			}
		}
	}()
	for _, c := range []struct {
		term   uint64
		passes bool
	}{{8, true}, {wall + maxEarlyTerm, true}, {wall + maxEarlyTerm + 1, false}, {math.MaxUint64, false}} {
		said = c.term
		for name, err := range map[string]error{
			"vote":     g.RequestVote("b", "b", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{}),
			"pre-vote": g.RequestPreVote("b", "b", &raft.RequestPreVoteRequest{}, &raft.RequestPreVoteResponse{}),
			"entries":  g.AppendEntries("b", "b", &raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{}),
			"snapshot": g.InstallSnapshot("b", "b", &raft.InstallSnapshotRequest{}, &raft.InstallSnapshotResponse{}, bytes.NewReader(nil)),
		} {
			if (err == nil) != c.passes {
				t.Errorf("%s: answer in term %d: %v", name, c.term, err)
			}
		}
	}
}

// The bound on terms does not depend on a node's own term: a stranger cannot separate the nodes whose terms it has raised from
// the other nodes.
func TestTermBoundIsIndependentOfOwnTerm(t *testing.T) {
	t.Parallel()
	const wall = 1_800_000_000_000
	raised := bounds{term: wall + maxEarlyTerm, wall: wall}
	behind := bounds{term: 1, wall: wall}
	if err := behind.checkTerm(raised.term); err != nil {
		t.Error(err)
	}
	if err := raised.checkTerm(raised.term + 1); err == nil {
		t.Error("a term beyond the bound is accepted")
	}
	for _, b := range []bounds{behind, raised} {
		b.wall += 300 // ms, the time of an election
		if err := b.checkTerm(raised.term + 1); err != nil {
			t.Errorf("the next election is lost: %v", err)
		}
	}
	if err := (bounds{wall: -1 << 63}).checkTerm(maxEarlyTerm); err != nil {
		t.Errorf("with a clock before 1970: %v", err)
	}
}

// A replaced leader learns the later term from the answer, although its entries cannot be accepted.
func TestEarlierTermsAreLeftToRaft(t *testing.T) {
	t.Parallel()
	b := bounds{term: 3, applied: 9, committed: 9, entryAt: func(uint64) (raft.Log, bool) { return raft.Log{Term: 3}, true }}
	instead := &raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 8, PrevLogTerm: 2, Entries: []*raft.Log{{Index: 9, Term: 2, Type: raft.LogNoop}}}
	older := &raft.InstallSnapshotRequest{Term: 2, SnapshotVersion: 1, LastLogIndex: 8, LastLogTerm: 2}
	for _, r := range []any{instead, older} {
		if err := b.request(r); err != nil {
			t.Errorf("%T: %v", r, err)
		}
	}
	instead.Term, older.Term = 3, 3
	for _, r := range []any{instead, older} {
		if err := b.request(r); err == nil {
			t.Errorf("%T in the present term passes", r)
		}
	}
}

// A leader refuses messages of a second leader in its term. Raft would step down for entries, and wait for all of a snapshot.
func TestSecondLeaderIsRefused(t *testing.T) {
	t.Parallel()
	heartbeat := &raft.AppendEntriesRequest{Term: 3}
	for _, c := range []struct {
		leads bool
		term  uint64
		takes bool
	}{{true, 3, false}, {true, 2, true}, {false, 3, true}} {
		if err := (bounds{leads: c.leads, term: c.term}).request(heartbeat); (err == nil) != c.takes {
			t.Errorf("leads %t in term %d: %v", c.leads, c.term, err)
		}
	}
}
