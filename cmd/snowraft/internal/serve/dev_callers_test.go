package serve

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/server"
)

// A result that comes twice, a failed call and the longest time without a result are counted. A gap that lasts counts too.
func TestCallerCounts(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	c := &caller{name: "IDs", now: func() time.Time { return at }, seen: make(map[int64]struct{})}
	c.line()
	for _, n := range []int64{1, 2, 3, 2} {
		c.note(n, nil)
		at = at.Add(500 * time.Millisecond)
	}
	c.note(0, errors.New("no leader"))
	if got, want := fmt.Sprint(c.line()), "[IDs 2 4 1 500ms 1]"; got != want {
		t.Errorf("line() = %s, want %s", got, want)
	}
	at = at.Add(2 * time.Second)
	if got, want := fmt.Sprint(c.line()), "[IDs 0 4 1 2.5s 1]"; got != want {
		t.Errorf("during a gap, line() = %s, want %s", got, want)
	}
	c.note(4, nil)
	if got, want := fmt.Sprint(c.line()), "[IDs - 5 1 2.5s 1]"; got != want {
		t.Errorf("after the gap, line() = %s, want %s", got, want)
	}
}

// A member that is cut off reaches no other member and is reached by none, over TCP and by datagrams. Its connections end.
func TestLinksCutBothWays(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", cli.Localhost+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn) }()
		}
	}()
	base := l.Addr().(*net.TCPAddr).Port - 2*portStep // the listener is the third member's
	all := newLinks(base, func() time.Time { return time.Time{} })
	of := func(i int) *link { return &link{server.Machine(), all, i} }
	address := l.Addr().String()
	for _, cut := range []int{0, 2} {
		conn, err := of(0).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		all.set(cut, true)
		if len(all.conns) > 0 {
			t.Fatalf("with member %d cut off, the connection is kept", cut)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("with member %d cut off, the connection lives", cut)
		}
		if _, err := of(0).DialContext(t.Context(), "tcp", address); !errors.Is(err, errCut) {
			t.Errorf("with member %d cut off, a dial returns %v", cut, err)
		}
		if other, err := of(1).DialContext(t.Context(), "tcp", address); cut == 0 && err != nil || cut == 2 && err == nil {
			t.Errorf("with member %d cut off, a dial of another member returns %v", cut, err)
		} else if err == nil {
			_ = other.Close()
		}
		sent := 0
		g := &gossipLink{transport{sent: &sent}, of(0)}
		for range 3 {
			if _, err := g.WriteTo(nil, address); err != nil {
				t.Error(err)
			}
		}
		if _, err := g.DialTimeout(address, time.Second); sent != 0 || !errors.Is(err, errCut) {
			t.Errorf("with member %d cut off, %d datagrams are sent, and a stream returns %v", cut, sent, err)
		}
		all.set(cut, false)
		if _, err := g.WriteTo(nil, address); err != nil || sent != 1 {
			t.Errorf("afterwards, %d datagrams are sent, %v", sent, err)
		}
	}
	if len(all.conns) != 0 {
		t.Errorf("%d connections are kept", len(all.conns))
	}
}

// transport counts datagrams.
type transport struct {
	memberlist.NodeAwareTransport
	sent *int
}

func (t transport) WriteToAddress([]byte, memberlist.Address) (time.Time, error) {
	*t.sent++
	return time.Time{}, nil
}
