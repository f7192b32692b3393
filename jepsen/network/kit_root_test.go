//go:build root && linux

package network

import (
	"io"
	"net"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds a wait for an event whose time proves nothing: a test that waits longer hangs.
const patience = 2 * time.Minute

// silence is the time after which a packet that a fault should stop counts as stopped.
const silence = 400 * time.Millisecond

// ok fails the test if err is not nil.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listenTCP echoes the bytes of all connections to a port of the host.
func listenTCP(t *testing.T, h *Host, port int) {
	t.Helper()
	var l net.Listener
	ok(t, h.Do(func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(h.IP, strconv.Itoa(port)))
		return err
	}))
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
}

func dial(from, to *Host, port int, within time.Duration) (conn net.Conn, err error) {
	err = from.Do(func() (err error) {
		conn, err = net.DialTimeout("tcp", net.JoinHostPort(to.IP, strconv.Itoa(port)), within)
		return err
	})
	return conn, err
}

// ask sends a word over the connection and waits for it to come back.
func ask(conn net.Conn, within time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "word"); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 4))
	return err
}

// reaches returns nil if a new TCP connection receives an answer. It waits twice for at most the time within.
func reaches(from, to *Host, port int, within time.Duration) error {
	conn, err := dial(from, to, port, within)
	if err != nil {
		return err
	}
	defer conn.Close()
	return ask(conn, within)
}

// A mailbox is a UDP socket on a port of a host.
type mailbox struct {
	*net.UDPConn
	host *Host
}

func openMailbox(t *testing.T, h *Host, port int) mailbox {
	t.Helper()
	m := mailbox{host: h}
	ok(t, h.Do(func() (err error) {
		m.UDPConn, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(h.IP), Port: port})
		return err
	}))
	raw, err := m.SyscallConn()
	ok(t, err)
	ok(t, raw.Control(func(fd uintptr) { // enough for all datagrams that a test sends at once
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20)
	}))
	ok(t, err)
	t.Cleanup(func() { m.UDPConn.Close() })
	return m
}

// arrive sends n datagrams of 1000 bytes from one mailbox to the other and returns the number that arrive. It waits for at least
// the number least, and for further ones until there is silence.
func arrive(t *testing.T, from, to mailbox, n, least int) (arrived int) {
	t.Helper()
	for range n {
		if _, err := from.WriteTo(make([]byte, 1000), to.LocalAddr()); err != nil {
			t.Fatal(err)
		}
	}
	for arrived < n {
		within := silence
		if arrived < least {
			within = patience
		}
		ok(t, to.SetReadDeadline(time.Now().Add(within)))
		if _, _, err := to.ReadFrom(make([]byte, 2000)); err != nil {
			break
		}
		arrived++
	}
	return arrived
}

// printed returns the standard output of a program that runs in the host.
func printed(t *testing.T, h *Host, program string, args ...string) string {
	t.Helper()
	var out []byte
	ok(t, h.Do(func() (err error) { out, err = exec.Command(program, args...).Output(); return err }))
	return string(out)
}

// state returns the rules and queueing disciplines of all hosts, without counters that traffic changes.
func state(t *testing.T, n *Net) string {
	t.Helper()
	var lines []string
	for name, h := range n.hosts {
		rules := printed(t, h, "iptables-save")
		for line := range strings.Lines(rules) {
			if strings.HasPrefix(line, "-A") || strings.HasPrefix(line, ":") && strings.Contains(line, " - ") {
				line, _, _ = strings.Cut(line, " [")
				lines = append(lines, name+" "+strings.TrimSpace(line))
			}
		}
		discs := printed(t, h, "tc", "qdisc", "show")
		for line := range strings.Lines(discs) {
			if !strings.Contains(line, "noqueue") {
				fields := slices.DeleteFunc(strings.Fields(line), func(s string) bool { return strings.HasSuffix(s, ":") })
				lines = append(lines, name+" "+strings.Join(fields, " "))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var fresh = regexp.MustCompile(`fault-\d+|to-ports \d+|mark [0-9a-fx/]+`)

// anonymous removes from the state the parts that differ each time: names of chains, ports and marks of relays.
func anonymous(state string) string { return fresh.ReplaceAllString(state, "...") }
