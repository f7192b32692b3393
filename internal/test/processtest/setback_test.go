//go:build process

package processtest

import (
	"os"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
)

// TestSetBack replaces two of three directories by earlier copies of them. The restore of a virtual machine's
// snapshot does the same. The two commit another history. When the third member returns, no member issues.
func TestSetBack(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3, secretFile(t)...)
	witness, earlier := members[0], t.TempDir()
	replace := func(with, dir string) {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(with)); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range members[1:] {
		m.kill()
		replace(m.dir, earlier+"/"+m.name)
		m.start().untilIssues()
	}
	pass(t, 3*time.Second)
	for _, m := range members {
		m.kill()
	}
	for _, m := range members[1:] {
		replace(earlier+"/"+m.name, m.dir)
		m.start()
	}
	for _, m := range members[1:] {
		m.untilIssues()
	}
	pass(t, 3*time.Second)
	began := time.Now()
	witness.start()
	for _, m := range members {
		until(t, m.name+" issues nothing, because disks were set back", func() bool {
			_, err := m.generate("", 1)
			return err != nil && (rpc.FromError(err).Reason == rpc.SetBack || rpc.FromError(err).Reason == rpc.Contradicted)
		})
		if !m.running() {
			t.Errorf("%s exited: %s", m.name, m.stderr.tail(3))
		}
	}
	t.Logf("all stopped within %v of the start of the witness", time.Since(began).Round(time.Millisecond))
	if !witness.logged("set back") {
		t.Errorf("the witness does not log why: %s", witness.stderr.tail(5))
	}
}
