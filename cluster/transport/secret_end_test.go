package transport

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
	"github.com/snowraft/snowraft/trust"
)

// secretFile is a file of secrets, and the keys that were read from it.
type secretFile struct {
	path string
	keys *trust.Keys // nil before the file was opened
}

// put writes the secrets with these numbers, and reloads the keys.
func (f *secretFile) put(t *testing.T, numbers ...int) {
	t.Helper()
	var lines strings.Builder
	for _, n := range numbers {
		lines.WriteString(clusterkit.Secrets[n].Line() + "\n")
	}
	if err := os.WriteFile(f.path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.keys == nil {
		return
	}
	if _, err := f.keys.Reload(); err != nil {
		t.Fatal(err)
	}
}

// A connection ends with the secret that verified it, on both sides.
func TestConnectionEndsWithItsSecret(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]int{"dialer": 0, "acceptor": 1} {
		hosts := [2]*secretFile{}
		for i := range hosts {
			hosts[i] = &secretFile{path: filepath.Join(t.TempDir(), "secret")}
			hosts[i].put(t, 0)
			var err error
			if hosts[i].keys, err = trust.OpenKeys(hosts[i].path); err != nil {
				t.Fatal(err)
			}
		}
		a, b := layer(t, hosts[0].keys), layer(t, hosts[1].keys)
		conn, err := a.dial(peer.RaftAddress(b.self.ID, b.listener.Addr().String()), forTerms, clusterkit.Patience)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		hosts[of].put(t, 1, 0)
		_ = conn.SetDeadline(time.Now().Add(clusterkit.Patience))
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
