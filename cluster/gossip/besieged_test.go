package gossip

import (
	"bytes"
	"compress/lzw"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster/logging"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
	"github.com/snowraft/snowraft/trust"
)

// besieged is the gossip of a member, over TCP and UDP, for strangers to attack.
type besieged struct {
	*View
	addr string
}

func besiege(t *testing.T) besieged {
	t.Helper()
	return besiegeWith(t, nil)
}

func besiegeWith(t *testing.T, keys *trust.Keys) besieged {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	transport, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{"127.0.0.1"}, Logger: logging.Standard(logger, "gossip", nil)})
	if err != nil {
		t.Fatal(err)
	}
	port := transport.GetAutoBindPort()
	own := peer.Meta{ID: uuid.NewString(), Name: "a", Starts: 1, Process: peer.NewProcess(), Raft: "127.0.0.1:1", Gossip: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	cfg := &Config{Watch: clock.NewWatch(clock.System(), nil, clock.Limits{MaxOffset: time.Second}), Logger: logger, Transport: transport, Host: "127.0.0.1", Port: port, Probe: time.Second, Keys: keys}
	g := New(cfg, func() peer.Meta { return own }, func(string) (bool, bool) { return false, false }, NewMisunderstood(slog.New(slog.DiscardHandler)))
	if err := g.Open(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return besieged{g, own.Gossip}
}

// datagrams sends datagrams from a stranger, and returns when the member has handled all of them.
func (b besieged) datagrams(t *testing.T, said ...[]byte) {
	t.Helper()
	conn, err := net.Dial("udp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clusterkit.Patience))
	ping := append([]byte{0}, packed(map[string]any{"SeqNo": 1})...)
	for _, raw := range append(said, ping) {
		if _, err := conn.Write(labeled(raw)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Read(make([]byte, 64)); err != nil {
		t.Errorf("the member answers no ping: %v", err)
	}
}

// stream sends a stranger's message on a stream and returns the member's answer.
func (b besieged) stream(t *testing.T, said []byte) []byte {
	t.Helper()
	conn := b.dial(t)
	defer conn.Close()
	if _, err := conn.Write(labeled(said)); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(conn)
	return answer
}

func (b besieged) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(clusterkit.Patience))
	return conn
}

// dialFrom dials from an address of this host, and skips the test where there is no such address.
func (b besieged) dialFrom(t *testing.T, ip net.IP) net.Conn {
	t.Helper()
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: ip}}
	conn, err := from.DialContext(t.Context(), "tcp", b.addr)
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return conn
}

// answers fails the test if the member does not answer to an honest exchange of state.
func (b besieged) answers(t *testing.T) {
	t.Helper()
	if len(b.stream(t, pushPull(1, honestState(clusterkit.NewMeta())))) == 0 {
		t.Error("the member does not answer")
	}
}

func labeled(said []byte) []byte {
	return append(append([]byte{244, byte(len(gossipLabel))}, gossipLabel...), said...)
}

func packed(v any) []byte {
	var b bytes.Buffer
	if err := codec.NewEncoder(&b, &codec.MsgpackHandle{}).Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// state is memberlist's pushNodeState.
type state struct {
	Name        string
	Addr        []byte
	Port        uint16
	Meta        []byte
	Incarnation uint32
	State       int
	Vsn         []uint8
}

func honestState(m peer.Meta) state {
	return state{Name: m.GossipName(), Addr: []byte{127, 0, 0, 1}, Port: 9, Meta: m.Encode(), Incarnation: 1, Vsn: []byte{1, 5, 2, 0, 0, 0}}
}

func pushPull(nodes int, states ...state) []byte {
	said := append([]byte{6}, packed(struct {
		Nodes, UserStateLen int
		Join                bool
	}{nodes, 0, true})...)
	for _, s := range states {
		said = append(said, packed(s)...)
	}
	return said
}

// compressed returns a message in the form that memberlist sends with compression.
func compressed(said []byte) []byte {
	var b bytes.Buffer
	w := lzw.NewWriter(&b, lzw.LSB, 8)
	_, _ = w.Write(said)
	_ = w.Close()
	return append([]byte{9}, packed(struct {
		Algo int
		Buf  []byte
	}{0, b.Bytes()})...)
}
