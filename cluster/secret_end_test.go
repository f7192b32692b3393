package cluster

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/trust"
)

// A connection ends with the secret that verified it, on both sides.
func TestConnectionEndsWithItsSecret(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]int{"dialer": 0, "acceptor": 1} {
		hosts := [2]*host{}
		for i := range hosts {
			hosts[i] = &host{file: filepath.Join(t.TempDir(), "secret")}
			hosts[i].put(t, 0)
			var err error
			if hosts[i].keys, err = trust.OpenKeys(hosts[i].file); err != nil {
				t.Fatal(err)
			}
		}
		a, b := layer(t, hosts[0].keys), layer(t, hosts[1].keys)
		conn, err := a.dial(peer.RaftAddress(b.self.ID, b.listener.Addr().String()), forTerms, patience)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		hosts[of].put(t, 1, 0)
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := conn.Write(make([]byte, termQuestion)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, termAnswer)); err != nil {
			t.Errorf("%s: the connection ended although its secret is still there: %v", name, err)
		}
		hosts[of].put(t, 1)
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection outlives its secret: %v", name, err)
		}
	}
}
