package gossip

import (
	"bytes"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster/logging"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// The members' messages cannot be read on the network, and no stranger's datagram is answered.
func TestSecuredGossipIsSealed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sent [][]byte
	transport, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{"127.0.0.1"}, Logger: logging.Standard(slog.New(slog.DiscardHandler), "gossip", nil)})
	if err != nil {
		t.Fatal(err)
	}
	tap := &tapped{NetTransport: transport, sent: func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, bytes.Clone(b))
	}}
	keys := clusterkit.Keys(t, 0)
	s := newScreenedTransport(tap, newKeyring(keys), func(net.Addr, error, bool) {}, slog.New(slog.DiscardHandler))
	defer func() {
		_ = s.Shutdown()
		s.wait()
	}()
	secretive := append(labeled(nil), "marked words"...)
	if _, err := s.WriteTo(secretive, "127.0.0.1:9"); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(sent) != 1 || bytes.Contains(sent[0], []byte("marked")) {
		t.Errorf("sent in clear: %q", sent)
	}
}

type tapped struct {
	*memberlist.NetTransport
	sent func([]byte)
}

func (t *tapped) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	t.sent(b)
	return t.NetTransport.WriteToAddress(b, a)
}
