package screen_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/screen"
)

// layer is a raft.StreamLayer whose connections are screened.
type layer struct {
	net.Listener
	large *screen.Large
}

func (l layer) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return screen.RaftRequests(conn, l.large), nil
}

func (l layer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", string(address), timeout)
	if err != nil {
		return nil, err
	}
	return screen.RaftAnswers(conn), nil
}

func transport(t *testing.T) *raft.NetworkTransport {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	trans := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: layer{l, screen.NewLarge()}, MaxPool: 1, MaxRPCsInFlight: 1, Timeout: 10 * time.Second, Logger: hclog.NewNullLogger(),
	})
	t.Cleanup(func() { _ = trans.Close() })
	return trans
}

// All of raft's messages pass unchanged, several of them in sequence on a single connection.
func TestRaftMessagesPass(t *testing.T) {
	t.Parallel()
	here, there := transport(t), transport(t)
	type heard struct {
		command  any
		snapshot []byte
	}
	hears := make(chan heard, 1)
	go func() {
		for rpc := range there.Consumer() {
			h := heard{command: rpc.Command}
			head := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("there"), Addr: []byte("there@h:1")}
			switch c := rpc.Command.(type) {
			case *raft.AppendEntriesRequest:
				if len(c.Entries) == 0 {
					rpc.Respond(nil, errors.New("no")) // raft's answer to other versions
				} else {
					rpc.Respond(&raft.AppendEntriesResponse{RPCHeader: head, Term: 1 << 60, LastLog: 7, Success: true}, nil)
				}
			case *raft.RequestVoteRequest:
				rpc.Respond(&raft.RequestVoteResponse{RPCHeader: head, Granted: true, Peers: []byte("x")}, nil)
			case *raft.RequestPreVoteRequest:
				rpc.Respond(&raft.RequestPreVoteResponse{RPCHeader: head, Granted: true}, nil)
			case *raft.InstallSnapshotRequest:
				h.snapshot, _ = io.ReadAll(rpc.Reader)
				rpc.Respond(&raft.InstallSnapshotResponse{RPCHeader: head, Success: true}, nil)
			case *raft.TimeoutNowRequest:
				rpc.Respond(&raft.TimeoutNowResponse{RPCHeader: head}, nil)
			}
			hears <- h
		}
	}()
	to := there.LocalAddr()
	head := raft.RPCHeader{ProtocolVersion: 3, ID: []byte("here"), Addr: []byte("here@h:1")}
	configuration := raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Nonvoter, ID: "a", Address: "a@h:1"}}})
	many := make([]*raft.Log, screen.MaxEntries)
	for i := range many {
		many[i] = &raft.Log{Index: uint64(i), Term: math.MaxUint64, Type: raft.LogBarrier, Data: make([]byte, screen.MaxCommand), Extensions: []byte("CRC4"), AppendedAt: time.Now()}
	}
	for range 2 {
		var answer raft.AppendEntriesResponse
		for _, entries := range [][]*raft.Log{{{Index: 1, Type: raft.LogConfiguration, Data: configuration}}, many} {
			request := raft.AppendEntriesRequest{RPCHeader: head, Term: 3, PrevLogEntry: 1, Entries: entries, LeaderCommitIndex: 9}
			if err := here.AppendEntries("there", to, &request, &answer); err != nil || !answer.Success || answer.Term != 1<<60 || answer.LastLog != 7 {
				t.Fatalf("AppendEntries() = %v, %+v", err, answer)
			}
			got := (<-hears).command.(*raft.AppendEntriesRequest)
			if len(got.Entries) != len(entries) || !bytes.Equal(got.Entries[len(entries)-1].Data, entries[len(entries)-1].Data) || got.LeaderCommitIndex != 9 {
				t.Errorf("%d entries arrived as %d", len(entries), len(got.Entries))
			}
		}
		if err := here.AppendEntries("there", to, &raft.AppendEntriesRequest{RPCHeader: head}, &answer); err == nil || err.Error() != "no" {
			t.Errorf("AppendEntries() = %v, want no", err)
		}
		<-hears
		var vote raft.RequestVoteResponse
		if err := here.RequestVote("there", to, &raft.RequestVoteRequest{RPCHeader: head, Term: 1, LeadershipTransfer: true}, &vote); err != nil || !vote.Granted {
			t.Errorf("RequestVote() = %v, %+v", err, vote)
		}
		<-hears
		var pre raft.RequestPreVoteResponse
		if err := here.RequestPreVote("there", to, &raft.RequestPreVoteRequest{RPCHeader: head, Term: 1}, &pre); err != nil || !pre.Granted {
			t.Errorf("RequestPreVote() = %v, %+v", err, pre)
		}
		<-hears
		content := bytes.Repeat([]byte("snow"), 100_000)
		var installed raft.InstallSnapshotResponse
		install := raft.InstallSnapshotRequest{
			RPCHeader: head, SnapshotVersion: 1, Term: 1, LastLogIndex: 5, Peers: []byte("p"),
			Configuration: configuration, ConfigurationIndex: 1, Size: int64(len(content)),
		}
		if err := here.InstallSnapshot("there", to, &install, &installed, bytes.NewReader(content)); err != nil || !installed.Success {
			t.Errorf("InstallSnapshot() = %v, %+v", err, installed)
		}
		if got := (<-hears).snapshot; !bytes.Equal(got, content) {
			t.Errorf("%d bytes of a snapshot of %d", len(got), len(content))
		}
		var now raft.TimeoutNowResponse
		if err := here.TimeoutNow("there", to, &raft.TimeoutNowRequest{RPCHeader: head}, &now); err != nil {
			t.Errorf("TimeoutNow() = %v", err)
		}
		<-hears
	}
}

type readOnly struct {
	net.Conn
	from io.Reader
}

func (r readOnly) Read(b []byte) (int, error)    { return r.from.Read(b) }
func (readOnly) SetReadDeadline(time.Time) error { return nil }
func (readOnly) Close() error                    { return nil }
func (readOnly) RemoteAddr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)} }

func request(kind byte, f fields) []byte {
	f["ProtocolVersion"] = 3
	return said(kind, f)
}

func TestRaftRequests(t *testing.T) {
	t.Parallel()
	entry := fields{"Index": 1, "Term": 1, "Type": 0, "Data": []byte("x")}
	many := make([]fields, screen.MaxEntries+1)
	for i := range many {
		many[i] = entry
	}
	for name, c := range map[string]struct {
		raw    []byte
		passes bool
	}{
		"entries":            {request(0, fields{"Term": 1, "Entries": []fields{entry}}), true},
		"vote":               {request(1, fields{"Term": 1}), true},
		"snapshot":           {append(request(2, fields{"Size": 3}), "abc"...), true},
		"leadership":         {request(3, fields{}), true},
		"pre-vote":           {request(4, fields{"Term": 1}), true},
		"of another version": {said(1, fields{"Term": 1, "ProtocolVersion": 1}), false},
		"without a version":  {said(1, fields{"Term": 1}), false},
		"no entry":           {request(0, fields{"Entries": []any{nil}}), false},
		"too many entries":   {request(0, fields{"Entries": many}), false},
		"large entry":        {request(0, fields{"Entries": []fields{{"Data": make([]byte, screen.MaxCommand+1)}}}), false},
		"endless list":       {append(request(0, fields{})[:1], "\x81\xa7Entries\xdd\xff\xff\xff\xff"...), false},
		"large snapshot":     {request(2, fields{"Size": int64(screen.MaxSnapshot) + 1}), false},
		"negative snapshot":  {request(2, fields{"Size": -1}), false},
		"unknown type":       {request(5, fields{}), false},
		"nested":             {append([]byte{1, 0x81, 0xa1, 'x'}, nested(1000)...), false},
	} {
		got, err := io.ReadAll(screen.RaftRequests(readOnly{from: bytes.NewReader(c.raw)}, screen.NewLarge()))
		if (err == nil) != c.passes {
			t.Errorf("%s: %v", name, err)
		}
		if c.passes && !bytes.Equal(got, c.raw) || !c.passes && len(got) > 0 {
			t.Errorf("%s: %q came through, of %q", name, got, c.raw)
		}
	}
}

func TestRaftAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw    []byte
		passes bool
	}{
		"result":     {append(packed(""), packed(fields{"Term": 1, "Success": true})...), true},
		"error":      {append(packed("no"), packed(nil)...), true},
		"long error": {append(packed(string(make([]byte, 1<<20))), packed(nil)...), false},
		"list":       {append(packed(""), nested(1000)...), false},
	} {
		got, err := io.ReadAll(screen.RaftAnswers(readOnly{from: bytes.NewReader(c.raw)}))
		if (err == nil) != c.passes || c.passes && !bytes.Equal(got, c.raw) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A large message keeps its place until its reader requests the next message, or the connection is closed.
func TestLargeMessagesHavePlaces(t *testing.T) {
	t.Parallel()
	raw := request(0, fields{"Entries": []fields{{"Data": make([]byte, screen.MaxCommand)}, {"Data": make([]byte, screen.MaxCommand)}}})
	large := screen.NewLarge()
	conn := screen.RaftRequests(readOnly{from: bytes.NewReader(append(raw, request(1, fields{})...))}, large)
	if _, err := io.ReadFull(conn, make([]byte, len(raw))); err != nil || large.Taken() != 1 {
		t.Fatalf("%d places are taken, want 1: %v", large.Taken(), err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil || large.Taken() != 0 {
		t.Errorf("%d places are taken behind the message: %v", large.Taken(), err)
	}
	conn = screen.RaftRequests(readOnly{from: bytes.NewReader(raw)}, large)
	if _, err := conn.Read(make([]byte, 1)); err != nil || large.Taken() != 1 {
		t.Fatalf("%d places are taken, want 1: %v", large.Taken(), err)
	}
	if err := errors.Join(conn.Close(), conn.Close()); err != nil || large.Taken() != 0 {
		t.Errorf("%d places are taken after the end: %v", large.Taken(), err)
	}
}

// One address holds at most half of the places.
func TestLargeMessagesOfOneAddress(t *testing.T) {
	t.Parallel()
	raw := request(0, fields{"Entries": []fields{{"Data": make([]byte, screen.MaxCommand)}, {"Data": make([]byte, screen.MaxCommand)}}})
	large := screen.NewLarge()
	for i := range 6 {
		conn := screen.RaftRequests(readOnly{from: bytes.NewReader(raw)}, large)
		if _, err := conn.Read(make([]byte, 1)); (err == nil) != (i < 4) {
			t.Errorf("large message %d: %v", i+1, err)
		}
		defer conn.Close()
	}
	if large.Taken() != 4 {
		t.Errorf("%d places are taken, want 4", large.Taken())
	}
}

// Raft's decoder must read from a request that passes only entries within the limits.
func FuzzRaftRequests(f *testing.F) {
	f.Add(request(0, fields{"Term": 1, "Entries": []fields{{"Index": 1, "Term": 1, "Type": 0, "Data": []byte("x"), "AppendedAt": nil}}}))
	f.Add(request(1, fields{"Term": uint64(math.MaxUint64)}))
	f.Add(append(request(2, fields{"Size": 3}), "abc"...))
	f.Add([]byte("\x00\x81\xa7Entries\xdd\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := io.ReadAll(screen.RaftRequests(readOnly{from: bytes.NewReader(raw)}, screen.NewLarge()))
		if err != nil || len(got) == 0 || got[0] != 0 {
			return
		}
		var r raft.AppendEntriesRequest
		_ = codec.NewDecoder(bytes.NewReader(got[1:]), &codec.MsgpackHandle{}).Decode(&r) // a time may be wrong
		if len(r.Entries) > screen.MaxEntries || r.ProtocolVersion != 3 {
			t.Errorf("%d entries of version %d", len(r.Entries), r.ProtocolVersion)
		}
		for _, e := range r.Entries {
			if e != nil && len(e.Data) > screen.MaxCommand {
				t.Errorf("an entry of %d bytes", len(e.Data))
			}
		}
	})
}

func FuzzRaftAnswers(f *testing.F) {
	f.Add(append(packed(""), packed(fields{"Term": 1, "Success": true})...))
	f.Add(append(packed("no"), packed(nil)...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := io.ReadAll(screen.RaftAnswers(readOnly{from: bytes.NewReader(raw)}))
		if err != nil || len(got) == 0 {
			return
		}
		dec := codec.NewDecoder(bytes.NewReader(got), &codec.MsgpackHandle{})
		var problem string
		var r raft.AppendEntriesResponse
		if err := errors.Join(dec.Decode(&problem), dec.Decode(&r)); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	})
}

// Configuration never panics, as raft's decoder does.
func FuzzConfiguration(f *testing.F) {
	f.Add(raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Nonvoter, ID: "a", Address: "a@h:1"}}}))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := screen.Configuration(raw)
		if err == nil && len(c.Servers) > screen.MaxServers {
			t.Errorf("%d servers", len(c.Servers))
		}
	})
}
