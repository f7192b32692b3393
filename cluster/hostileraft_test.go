package cluster

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
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

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
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
	from := clusterkit.NewMeta()
	from.Cluster = n.ClusterID()
	said, err := json.Marshal(transport.Greeting{From: from, To: n.ID()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Write(append(binary.BigEndian.AppendUint16([]byte(peer.Magic), uint16(len(said))), said...))
	if err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len(peer.Magic)+2)
	if _, err := io.ReadFull(conn, answer); err != nil {
		t.Fatal(err)
	}
	var reply transport.Reply
	if err := json.NewDecoder(io.LimitReader(conn, int64(binary.BigEndian.Uint16(answer[len(peer.Magic):])))).Decode(&reply); err != nil || reply.Refused != "" {
		t.Fatalf("%+v, %v", reply, err)
	}
	_ = conn.SetDeadline(time.Now().Add(clusterkit.Patience))
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
		return &raft.AppendEntriesRequest{RPCHeader: clusterkit.Header(), Term: term, PrevLogEntry: last, PrevLogTerm: lastTerm, Entries: entries}
	}
	good := raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "a@h:1"}}})
	installing := func(index uint64, version raft.SnapshotVersion, configuration []byte, size int64) *raft.InstallSnapshotRequest {
		return &raft.InstallSnapshotRequest{
			RPCHeader: clusterkit.Header(), SnapshotVersion: version, Term: term + 1, LastLogIndex: index, LastLogTerm: term,
			Configuration: configuration, ConfigurationIndex: 1, Size: size,
		}
	}
	for name, c := range map[string]struct {
		kind    byte
		request any
	}{
		"vote in the last term": {askVote, &raft.RequestVoteRequest{
			RPCHeader: clusterkit.Header(), Term: math.MaxUint64 - 1, LastLogIndex: math.MaxUint64, LastLogTerm: math.MaxUint64, LeadershipTransfer: true,
		}},
		"entries in the last term":             {askAppend, appending(math.MaxUint64, nil)},
		"no entry":                             {askAppend, appending(term+1, []*raft.Log{nil})},
		"entry after a gap":                    {askAppend, &raft.AppendEntriesRequest{RPCHeader: clusterkit.Header(), Term: term + 1, Entries: entry(1<<40, term, raft.LogCommand, nil)}},
		"entry of a later term":                {askAppend, appending(term+1, entry(last+1, term+2, raft.LogCommand, nil))},
		"entry instead of a committed one":     {askAppend, &raft.AppendEntriesRequest{RPCHeader: clusterkit.Header(), Term: term + 5, Entries: entry(1, term+5, raft.LogCommand, nil)}},
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
