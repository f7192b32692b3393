//go:build process && linux

package processtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/snowraft/snowraft/internal/test/freeport"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// fewFiles starts a program with a limit of open files.
func fewFiles(limit int) func(*exec.Cmd) error {
	return func(c *exec.Cmd) error {
		c.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, limit), c.Path}, c.Args[1:]...)
		c.Path = "/bin/sh"
		return c.Start()
	}
}

// crowd opens idle connections to an address, from many hosts, so that no limit of one host holds them off.
func crowd(t *testing.T, address string, size int) {
	t.Helper()
	for i := range size {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%100))}}
		conn, err := from.DialContext(t.Context(), "tcp", address)
		if err != nil {
			continue // the member has no place for it
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// Connections of clients that take all files that they may have leave enough for an administrator, the secret file, the members'
// connections and a snapshot of the state.
func TestFewOpenFiles(t *testing.T) {
	t.Parallel()
	const limit = 600
	first, second := trust.NewSecret(), trust.NewSecret()
	members := newCluster(t, 3)
	for _, m := range members {
		m.secured(first)
	}
	m := members[0]
	redis := freeport.Address(t)
	m.launch, m.flags = fewFiles(limit), append(m.flags, "--redis-addr", redis)
	for _, each := range members {
		each.start()
	}
	for _, each := range members {
		each.untilIssues()
	}
	for _, address := range []string{redis, m.api, m.http} {
		crowd(t, address, limit)
	}
	until(t, "connections that made way are closed, and leave some hundreds and a reserve", func() bool {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", m.cmd.Process.Pid))
		return err == nil && len(open) >= limit/2 && len(open) <= limit-100
	})
	for _, each := range members {
		each.writeSecrets(first, second)
	}
	until(t, "the member reloads its secret", func() bool { return strings.Contains(m.stderr.String(), "secret file reloaded") })
	var creators sync.WaitGroup
	for i := range 32 {
		creators.Go(func() {
			for j := range 140 { // together more than the 4096 commands of a snapshot
				if _, err := m.numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: fmt.Sprint(i, "/", j)}}); err != nil {
					t.Errorf("an administrator: %v", err)
					return
				}
			}
		})
	}
	creators.Wait()
	until(t, "the member writes a snapshot", func() bool {
		found, err := filepath.Glob(filepath.Join(m.dir, "snapshots", "*-*", "state.bin"))
		return err == nil && len(found) > 0
	})
	m.untilIssues()
	if log := m.stderr.String(); strings.Contains(log, "too many open files") {
		t.Error("the member ran out of files")
	}
}
