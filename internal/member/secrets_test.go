package member

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/snowflake"
)

// mark is a secret that a search finds.
var mark = [16]byte([]byte("secret-of-a-test"))

// expectUnwritten fails if the log or a snapshot of a member holds a secret.
func expectUnwritten(t *testing.T, m *Member, secret [16]byte) {
	t.Helper()
	var snapshot bytes.Buffer
	m.fsm.View(func(s *fsm.State) {
		if _, err := s.WriteTo(&snapshot); err != nil {
			t.Error(err)
		}
	})
	if bytes.Contains(snapshot.Bytes(), secret[:]) {
		t.Errorf("a snapshot holds %q", secret)
	}
	if err := filepath.WalkDir(m.cfg.Cluster.DataDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, secret[:]) {
			t.Errorf("%s holds %q", path, secret)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func TestNoncesStayOutOfTheLog(t *testing.T) {
	m := openOne(t)
	g, err := m.AcquireWorker(t.Context(), allocator.AcquireRequest{
		Layout: snowflake.Default().Name(), Holder: "app", Nonce: mark, NowMillis: m.clock.Now().Wall, Window: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	release := allocator.ReleaseRequest{Layout: snowflake.Default().Name(), Worker: g.Worker, Token: g.Token, Until: g.Until, Next: g.From}
	// The hash of the nonce that the log shows is useless for a claim.
	release.Nonce = allocator.Nonce(hashOf(mark)[:16])
	if err := m.ReleaseWorker(t.Context(), release); !errors.Is(err, allocator.ErrWindowMismatch) {
		t.Errorf("released with half of the hash: %v", err)
	}
	release.Nonce = mark
	if err := m.ReleaseWorker(t.Context(), release); err != nil {
		t.Errorf("released by the holder: %v", err)
	}
	expectUnwritten(t, m, mark)
}
