//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"
)

// A need is a feature that networks and faults require, with a command that fails without it.
type need struct {
	what    string
	program string
	input   string
	args    []string
}

// needs are tried in this order in one new namespace.
var needs = []need{
	{"a loopback", "ip", "", []string{"link", "set", "dev", "lo", "up"}},
	{"bridges", "ip", "", []string{"link", "add", "name", bridge, "type", "bridge"}},
	{"veth devices", "ip", "", []string{"link", "add", "name", "probe0", "gso_max_segs", "1", "type", "veth", "peer", "name", "probe1"}},
	{"the tbf queueing discipline", "tc", "",
		[]string{"qdisc", "replace", "dev", "lo", "root", "tbf", "rate", "1gbit", "burst", "1000000", "limit", "1000000"}},
	rule("iptables rules", "filter", "INPUT", "-s 10.77.0.1 -p tcp -m tcp --dport 1 -j DROP"),
	rule("iptables' match statistic", "filter", "INPUT", "-m statistic --mode random --probability 0.5 -j DROP"),
	rule("iptables' target REJECT with tcp-reset", "filter", "INPUT",
		"-p tcp -m tcp --dport 1"+" -m tcp --tcp-flags RST NONE -j REJECT --reject-with tcp-reset"),
	rule("iptables' target REJECT with icmp-port-unreachable", "filter", "INPUT",
		"-p udp -m udp --dport 1 -j REJECT --reject-with icmp-port-unreachable"),
	rule("iptables' match mark and target REDIRECT", "nat", "OUTPUT",
		"-p tcp -m tcp --dport 1 --syn -m mark ! --mark 0x1/0x1 -j REDIRECT --to-ports 2"),
}

func rule(what, table, parent, rule string) need {
	c := chain{table: table, parent: parent, name: "probe", rules: []string{rule}}
	return need{what: what, program: "iptables-restore", input: c.made() + c.removed(), args: []string{"--noflush", "-w"}}
}

// Check tries every feature that this package requires of the machine, in a new namespace. Its error names all missing
// features in one line.
func Check(ctx context.Context) error {
	s, err := newSpace()
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }()
	var missing []string
	absent := map[string]bool{}
	for _, program := range []string{"ip", "tc", "ss", "iptables-save", "iptables-restore"} {
		if _, err := exec.LookPath(program); err != nil {
			absent[program] = true
			missing = append(missing, "the program "+program)
		}
	}
	for _, n := range needs {
		if absent[n.program] {
			continue
		}
		if err := s.run(ctx, n.input, nil, n.program, n.args...); err != nil {
			missing = append(missing, fmt.Sprintf("%s (%v)", n.what, err))
		}
	}
	if !absent["ss"] {
		if err := s.probeReset(ctx); err != nil {
			missing = append(missing, fmt.Sprintf("ss --kill, which needs CONFIG_INET_DIAG_DESTROY in the kernel (%v)", err))
		}
	}
	if len(missing) > 0 {
		return errors.New("network faults are not possible on this machine; missing: " + strings.Join(missing, "; "))
	}
	return nil
}

// probeReset resets a connection and verifies that it is reset, because ss reports no error in a kernel that cannot.
func (s *space) probeReset(ctx context.Context) error {
	return s.do(func() error {
		var cfg net.ListenConfig
		l, err := cfg.Listen(ctx, "tcp4", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp4", l.Addr().String())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if err := s.run(ctx, "", nil, "ss", resetting([]string{"127.0.0.1"}, l.Addr().(*net.TCPAddr).Port)...); err != nil {
			return err
		}
		stop := time.AfterFunc(time.Second, func() { _ = conn.Close() })
		_, _ = conn.Read(make([]byte, 1))
		if !stop.Stop() {
			return errors.New("the connection stayed open")
		}
		return nil
	})
}
