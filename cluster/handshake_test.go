package cluster

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/peer"
)

func someMeta() peer.Meta {
	return peer.Meta{ID: uuid.NewString(), Name: "a", Cluster: uuid.NewString(), Starts: 3, Process: peer.NewProcess(), Raft: "127.0.0.1:1", API: "127.0.0.1:2", Gossip: "127.0.0.1:3", Commands: 1}
}

// shake runs both sides over a pipe.
func shake(t *testing.T, h hello, answer handshakeReply) (dialer, acceptor error) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	done := make(chan error, 1)
	var heard hello
	go func() {
		said, _, err := receive(b, func(h hello) handshakeReply { heard = h; return answer })
		if err == nil && said != h {
			t.Errorf("returned %+v, want %+v", said, h)
		}
		done <- err
	}()
	_, dialer = greet(a, h)
	acceptor = <-done
	if heard != h {
		t.Errorf("said %+v, heard %+v", h, heard)
	}
	return dialer, acceptor
}

func TestHandshakeReplies(t *testing.T) {
	h := hello{From: someMeta(), To: uuid.NewString()}
	if d, a := shake(t, h, handshakeReply{From: someMeta()}); d != nil || a != nil {
		t.Errorf("accepted: %v, %v", d, a)
	}
	if d, a := shake(t, h, handshakeReply{Refused: memberRemoved, Detail: "x"}); !errors.Is(d, peer.ErrRemoved) || a == nil {
		t.Errorf("removed: %v, %v", d, a)
	}
	if d, a := shake(t, h, handshakeReply{Refused: otherCluster, Detail: "x"}); !errors.Is(d, peer.ErrOtherCluster) || a == nil {
		t.Errorf("other cluster: %v, %v", d, a)
	}
	if d, a := shake(t, h, handshakeReply{Refused: otherNode, Detail: "x"}); d == nil || a == nil {
		t.Errorf("other node: %v, %v", d, a)
	}
}

func TestHandshakeWithSomethingElse(t *testing.T) {
	for name, said := range map[string]string{
		"http":      "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"too large": peer.Magic + "\xff\xff" + strings.Repeat("x", 100),
		"cut off":   peer.Magic + "\x00\x10{",
		"no json":   peer.Magic + "\x00\x03abc",
		"silence":   "",
	} {
		a, b := net.Pipe()
		go func() {
			_, _ = a.Write([]byte(said))
			_ = a.Close()
		}()
		if _, _, err := receive(b, func(hello) handshakeReply { t.Errorf("%s: judged", name); return handshakeReply{} }); err == nil {
			t.Errorf("%s: accepted", name)
		}
		_ = b.Close()
	}
}

func FuzzReadFrame(f *testing.F) {
	var frame bytes.Buffer
	if err := writeFrame(&frame, hello{From: someMeta(), To: "x"}); err != nil {
		f.Fatal(err)
	}
	f.Add(frame.Bytes())
	f.Add([]byte(peer.Magic))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		var h hello
		_ = readFrame(bytes.NewReader(raw), &h) // must not panic or allocate without bounds
	})
}

func FuzzDecodeMeta(f *testing.F) {
	f.Add(someMeta().Encode())
	f.Add([]byte(`{"i":"x"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := peer.DecodeMeta(raw)
		if err != nil {
			return
		}
		if uuid.Validate(m.ID) != nil || m.Raft == "" || len(raw) > peer.MaxMeta {
			t.Errorf("took %q for %+v", raw, m)
		}
	})
}

// Texts that a terminal could obey, and names that no member can have, are refused on arrival.
func TestMetaIsVisible(t *testing.T) {
	const escape = "x\x1b[2J"
	for name, plant := range map[string]func(*peer.Meta){
		"name":             func(m *peer.Meta) { m.Name = escape },
		"name with spaces": func(m *peer.Meta) { m.Name = "a\nb" },
		"no name":          func(m *peer.Meta) { m.Name = "" },
		"reserved name":    func(m *peer.Meta) { m.Name = "$system" },
		"process":          func(m *peer.Meta) { m.Process = escape },
		"Raft address":     func(m *peer.Meta) { m.Raft = escape },
		"API address":      func(m *peer.Meta) { m.API = escape },
		"gossip address":   func(m *peer.Meta) { m.Gossip = "\u202e" + m.Gossip },
		"version":          func(m *peer.Meta) { m.Version = escape },
		"fingerprints":     func(m *peer.Meta) { m.Keys = escape },
		"quorum":           func(m *peer.Meta) { m.Quorum = "\u009b2J" },
		"silent voters":    func(m *peer.Meta) { m.Silent = escape },
	} {
		m := someMeta()
		plant(&m)
		if _, err := peer.DecodeMeta(m.Encode()); err == nil {
			t.Errorf("%s: %+v was taken", name, m)
		}
	}
}

// The metadata of a node that opened fits into a gossip message later. A leader does not stall, and a quorum is that of a node
// without a cluster.
func TestMetaHasRoomToGrow(t *testing.T) {
	small := someMeta()
	small.Cluster, small.Quorum, small.Keys = "", "", strings.Repeat("0", 16)
	grown := small
	grown.Keys = strings.Repeat(","+small.Keys, peer.MaxKeys)[1:]
	grown.Hears, grown.Halted = true, true
	waits, follows, leads := grown, grown, grown
	waits.Quorum, waits.Stalled = setDigest(nil), true
	follows.Cluster, follows.Stalled = uuid.NewString(), true
	leads.Cluster, leads.Silent = uuid.NewString(), strings.Repeat(","+shortID(small.ID), maxSilent)[1:]
	for name, m := range map[string]peer.Meta{"waits": waits, "follows": follows, "leads": leads} {
		if grew := len(m.Encode()) - len(small.Encode()); grew > peer.RoomForMeta {
			t.Errorf("%s: the metadata grows by %d bytes, want at most %d", name, grew, peer.RoomForMeta)
		}
	}
}

func TestMetaRoundTrip(t *testing.T) {
	m := someMeta()
	got, err := peer.DecodeMeta(m.Encode())
	if err != nil || got != m {
		t.Errorf("%+v, %v", got, err)
	}
}
