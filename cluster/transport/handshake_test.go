package transport

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cluster/lives"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// shake runs both sides over a pipe.
func shake(t *testing.T, h Greeting, answer Reply) (dialer, acceptor error) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	done := make(chan error, 1)
	var heard Greeting
	go func() {
		said, _, err := answerGreeting(b, func(h Greeting) Reply { heard = h; return answer })
		if err == nil && said != h {
			t.Errorf("returned %+v, want %+v", said, h)
		}
		done <- err
	}()
	_, dialer = sendGreeting(a, h)
	acceptor = <-done
	if heard != h {
		t.Errorf("said %+v, heard %+v", h, heard)
	}
	return dialer, acceptor
}

func TestHandshakeReplies(t *testing.T) {
	h := Greeting{From: clusterkit.NewMeta(), To: uuid.NewString()}
	if d, a := shake(t, h, Reply{From: clusterkit.NewMeta()}); d != nil || a != nil {
		t.Errorf("accepted: %v, %v", d, a)
	}
	if d, a := shake(t, h, Reply{Refused: MemberRemoved, Detail: "x"}); !errors.Is(d, peer.ErrRemoved) || a == nil {
		t.Errorf("removed: %v, %v", d, a)
	}
	if d, a := shake(t, h, Reply{Refused: OtherCluster, Detail: "x"}); !errors.Is(d, peer.ErrOtherCluster) || a == nil {
		t.Errorf("other cluster: %v, %v", d, a)
	}
	if d, a := shake(t, h, Reply{Refused: OtherNode, Detail: "x"}); d == nil || a == nil {
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
		if _, _, err := answerGreeting(b, func(Greeting) Reply { t.Errorf("%s: judged", name); return Reply{} }); err == nil {
			t.Errorf("%s: accepted", name)
		}
		_ = b.Close()
	}
}

func FuzzReadFrame(f *testing.F) {
	var frame bytes.Buffer
	if err := writeFrame(&frame, Greeting{From: clusterkit.NewMeta(), To: "x"}); err != nil {
		f.Fatal(err)
	}
	f.Add(frame.Bytes())
	f.Add([]byte(peer.Magic))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		var h Greeting
		_ = readFrame(bytes.NewReader(raw), &h) // must not panic or allocate without bounds
	})
}

// The longest message fits into a frame.
func TestLongestLifeFits(t *testing.T) {
	t.Parallel()
	own, other := net.Pipe()
	defer own.Close()
	defer other.Close()
	sent := lives.Message{Cluster: uuid.NewString(), Answers: lives.NewNonce(), Asks: lives.NewNonce(), Ends: true, Leader: strings.Repeat("l", peer.MaxMeta)}
	for range lives.MaxAncestors {
		sent.Ancestors = append(sent.Ancestors, uuid.NewString())
	}
	for range lives.MaxMembers {
		sent.Members = append(sent.Members, strings.Repeat("m", peer.MaxMeta))
	}
	go func() { _ = writeFrame(own, Reply{From: clusterkit.NewMeta(), Life: &sent}) }()
	var got Reply
	if err := readLongFrame(other, &got, lives.MaxMessage); err != nil || got.Life == nil || len(got.Life.Ancestors) != lives.MaxAncestors || got.Life.Check(sent.Answers) != nil {
		t.Errorf("received: %v", err)
	}
}
