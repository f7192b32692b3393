//go:build process && linux

package processtest

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serviceManager is the socket of a service manager, with the variables that it received.
type serviceManager struct {
	env    []string // environment of the process that it starts
	learns output   // one line per variable
}

func newServiceManager(t *testing.T, watchdog string) *serviceManager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m := &serviceManager{env: []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=" + watchdog}}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			_, _ = m.learns.Write(append(buf[:n:n], '\n'))
		}
	}()
	return m
}

// count returns the number of received states with the prefix state.
func (m *serviceManager) count(state string) int {
	return strings.Count("\n"+m.learns.String(), "\n"+state)
}

// TestServiceManagerLearnsOfAMember starts one member of three, which is ready for the manager although it has no quorum.
// The test then starts the others, and then makes the member hang.
func TestServiceManagerLearnsOfAMember(t *testing.T) {
	t.Parallel()
	members := newCluster(t, 3)
	m, manages := members[0], newServiceManager(t, "1000000")
	m.startIn(manages.env)
	until(t, "the member is ready for the manager", func() bool { return manages.count("READY=1") == 1 })
	until(t, "the manager sees signs of life without a quorum", func() bool { return manages.count("WATCHDOG=1") > 1 })
	if manages.count("STATUS=serving at "+m.api+", cannot issue IDs yet: ") == 0 {
		t.Errorf("the manager received no reason:\n%s", &manages.learns)
	}
	members[1].start()
	members[2].start()
	until(t, "the manager learns that the member issues IDs", func() bool { return manages.count("STATUS=serving at "+m.api+", issuing IDs") == 1 })

	m.signal(syscall.SIGSTOP)
	pass(t, time.Second) // until its earlier messages have arrived
	before := manages.count("WATCHDOG=1")
	pass(t, 2*time.Second)
	if after := manages.count("WATCHDOG=1"); after != before {
		t.Errorf("%d signs of life of a stopped process", after-before)
	}
	m.signal(syscall.SIGCONT)
	until(t, "the member is back", func() bool { return manages.count("WATCHDOG=1") > before })
	m.stop()
	if manages.count("STOPPING=1") != 1 || manages.count("READY=1") != 1 {
		t.Errorf("the manager received\n%s", &manages.learns)
	}
}

// TestServiceManagerLearnsOfAGateway starts a gateway before any member runs.
func TestServiceManagerLearnsOfAGateway(t *testing.T) {
	t.Parallel()
	m := newCluster(t, 1)[0]
	g, manages := newMember(t, "g"), newServiceManager(t, "1000000")
	g.gateway(manages.env, m)
	until(t, "the gateway is alive for the manager", func() bool { return manages.count("READY=1") == 1 && manages.count("WATCHDOG=1") > 0 })
	m.start()
	until(t, "the manager learns that the gateway issues IDs", func() bool { return manages.count("STATUS=serving at "+g.api+", issuing IDs") == 1 })
	g.stop()
	if manages.count("STOPPING=1") != 1 {
		t.Errorf("the manager received\n%s", &manages.learns)
	}
}
