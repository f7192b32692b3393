//go:build root && linux

package network

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newNet returns a network with hosts n1, n2 and so on.
func newNet(t *testing.T, hosts int) (*Net, []*Host) {
	t.Helper()
	n, err := New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	var made []*Host
	for i := range hosts {
		h, err := n.AddHost(t.Context(), "n"+string(rune('1'+i)), i+1)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, h)
	}
	return n, made
}

func TestHostsReachEachOtherAndTheHarness(t *testing.T) {
	n, hosts := newNet(t, 3)
	for _, from := range append(hosts, n.harness) {
		for _, to := range append(hosts, n.harness) {
			if err := from.Run(t.Context(), "ip", "route", "get", to.IP); err != nil {
				t.Fatal(err)
			}
			var l net.Listener
			err := to.Do(func() (err error) { l, err = net.Listen("tcp", to.IP+":7702"); return err })
			if err != nil {
				t.Fatal(err)
			}
			var conn net.Conn
			err = from.Do(func() (err error) { conn, err = net.DialTimeout("tcp", l.Addr().String(), patience); return err })
			if err != nil {
				t.Fatalf("%s to %s: %v", from.Name, to.Name, err)
			}
			if got := conn.LocalAddr().(*net.TCPAddr).IP.String(); got != from.IP {
				t.Errorf("%s to %s: local address %s, want %s", from.Name, to.Name, got, from.IP)
			}
			conn.Close()
			l.Close()
		}
	}
}

func TestHostConnectsFromEachOfItsAddresses(t *testing.T) {
	n, hosts := newNet(t, 1)
	h, err := n.AddHostOf(t.Context(), "many", 10, 3)
	ok(t, err)
	if _, err := n.AddHost(t.Context(), "taken", 12); err == nil {
		t.Error("AddHost() with an address in use succeeded")
	}
	listenTCP(t, hosts[0], 7702)
	for _, ip := range []string{"10.77.0.10", "10.77.0.11", "10.77.0.12"} {
		dialer := &net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		var conn net.Conn
		ok(t, h.Do(func() (err error) {
			conn, err = dialer.DialContext(t.Context(), "tcp", hosts[0].IP+":7702")
			return err
		}))
		ok(t, ask(conn, patience))
		ok(t, conn.Close())
	}
	if !slices.Equal(h.Addresses(), []string{"10.77.0.10", "10.77.0.11", "10.77.0.12"}) {
		t.Errorf("Addresses() = %v, want 10.77.0.10 to 10.77.0.12", h.Addresses())
	}
}

// TestHostsAreReady makes networks and uses them at once. TCP resends no packet, so none was lost.
func TestHostsAreReady(t *testing.T) {
	for range 10 {
		n, hosts := newNet(t, 2)
		listenTCP(t, hosts[1], 7702)
		conn, err := dial(hosts[0], hosts[1], 7702, patience)
		ok(t, err)
		ok(t, ask(conn, patience))
		if again := resent(t, conn); again != 0 {
			t.Errorf("%d packets were sent again, want none", again)
		}
		ok(t, conn.Close())
		ok(t, n.Close())
	}
}

// resent returns the number of packets of a TCP connection that this end has sent again.
func resent(t *testing.T, conn net.Conn) (packets uint32) {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	ok(t, err)
	ok(t, raw.Control(func(fd uintptr) {
		var info *unix.TCPInfo
		if info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			packets = info.Total_retrans
		}
	}))
	ok(t, err)
	return packets
}

// abroad returns the number of threads that are not in the network namespace of the main thread.
func abroad(t *testing.T) (n int) {
	t.Helper()
	home, err := os.Readlink("/proc/self/ns/net")
	ok(t, err)
	tasks, err := filepath.Glob("/proc/self/task/*/ns/net")
	ok(t, err)
	for _, task := range tasks {
		if there, err := os.Readlink(task); err == nil && there != home {
			n++
		}
	}
	return n
}

func threadsGoHome(t *testing.T) {
	t.Helper()
	poll, deadline := time.NewTicker(time.Millisecond), time.After(patience)
	defer poll.Stop()
	for abroad(t) > 0 {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("%d threads are still in hosts, want none", abroad(t))
		}
	}
}

// TestMainThreadNeverEntersAHost makes many namespaces, so that some of them would use the main thread.
func TestMainThreadNeverEntersAHost(t *testing.T) {
	home, err := os.Readlink("/proc/self/ns/net")
	ok(t, err)
	for range 300 {
		s, err := newSpace()
		ok(t, err)
		ok(t, s.do(func() error {
			there, err := os.Readlink(ownSpace)
			if err == nil && there == home {
				err = errors.New("the function runs in the namespace of the process")
			}
			if unix.Gettid() == unix.Getpid() {
				err = errors.New("the function runs on the main thread")
			}
			return err
		}))
		ok(t, s.close())
	}
}

func TestChildOutlivesDo(t *testing.T) {
	n, hosts := newNet(t, 1)
	cmd := exec.Command("cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := hosts[0].Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	threadsGoHome(t)
	for range 100 {
		if _, err := io.WriteString(in, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestRunErrorHasStandardError(t *testing.T) {
	_, hosts := newNet(t, 1)
	err := hosts[0].Run(t.Context(), "ip", "link", "show", "nothing")
	if err == nil || !strings.Contains(err.Error(), `host n1: ip link show nothing: exit status 1: Device "nothing"`) {
		t.Fatalf("Run() = %v, want an error with the standard error of ip", err)
	}
}

func TestNetRejectsInvalidUse(t *testing.T) {
	n, hosts := newNet(t, 1)
	if _, err := New(t.Context()); err == nil || !strings.Contains(err.Error(), "br0") {
		t.Errorf("New() in a namespace with a network: %v, want an error that names br0", err)
	}
	for name, number := range map[string]int{"n1": 2, "n2": 1, "n3": 0, "n4": 201} {
		if _, err := n.AddHost(t.Context(), name, number); err == nil {
			t.Errorf("AddHost(%s, %d) succeeded", name, number)
		}
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	threadsGoHome(t)
	if err := hosts[0].Do(func() error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("Do() of a closed host: %v, want %v", err, errClosed)
	}
	if _, err := n.AddHost(t.Context(), "n5", 5); !errors.Is(err, errClosed) {
		t.Errorf("AddHost() of a closed network: %v, want %v", err, errClosed)
	}
	if _, err := n.Slow(t.Context(), []string{"n1"}, 64_000); !errors.Is(err, errClosed) {
		t.Errorf("Slow() of a closed network: %v, want %v", err, errClosed)
	}
}
