//go:build linux

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

const (
	dialWithin = 2 * time.Second
	// deadAfter is the time without an acknowledgment after which a connection fails. TCP alone would resend ever more
	// rarely, and notice a healed network only long afterward.
	deadAfter = 3 * time.Second
)

// Connect returns a connection to a member's API that reconnects soon after a restart of the member or a cut of the
// network.
func (l *Lab) Connect(m *Member) (*grpc.ClientConn, error) { return l.connect(m, l.Credentials()) }

// ConnectAdmin returns a connection like Connect, but with an administrator's credentials. They are valid in every cluster
// that has the secret.
func (l *Lab) ConnectAdmin(m *Member) (*grpc.ClientConn, error) {
	return l.connect(m, l.adminCredentials())
}

func (l *Lab) connect(m *Member, proofs []grpc.DialOption) (*grpc.ClientConn, error) {
	reconnect := backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: 200 * time.Millisecond}
	return grpc.NewClient("passthrough:///"+m.Address(PortAPI), append(proofs,
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return l.dial(ctx, address, &net.Dialer{Timeout: dialWithin, Control: dieSoon})
		}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: time.Second}))...)
}

// dieSoon makes a connection fail after deadAfter without an acknowledgment.
func dieSoon(_, _ string, conn syscall.RawConn) error {
	var set error
	err := conn.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds()))
	})
	return errors.Join(err, set)
}

// at returns the member with this address, nil if there is none.
func (l *Lab) at(address string) *Member {
	ip, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	for _, m := range slices.Concat(l.Members, l.strays) {
		if m.Host.IP == ip {
			return m
		}
	}
	return nil
}

// Dial connects to a member as a client. The connection leads to one start of the member's process for its whole life;
// StartOf returns that start.
func (l *Lab) Dial(ctx context.Context, address string) (net.Conn, error) {
	return l.dial(ctx, address, &net.Dialer{Timeout: dialWithin})
}

func (l *Lab) dial(ctx context.Context, address string, dialer *net.Dialer) (net.Conn, error) {
	m := l.at(address)
	if m == nil {
		return nil, fmt.Errorf("address %s: not a member of the lab", address)
	}
	before := m.Current()
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	// A new process can accept connections before the harness has recorded its start.
	if now := m.Current(); now != before || now == 0 {
		return nil, errors.Join(fmt.Errorf("%s was started or restarted while it was dialed", m.Name), conn.Close())
	}
	l.calls.Store(callKey(conn.LocalAddr(), conn.RemoteAddr()), before)
	return conn, nil
}

// StartOf returns the start of a process that a connection leads to, 0 if it is unknown. Dial must have made the
// connection between the two addresses. The local address alone is ambiguous, because the kernel uses the same port for
// connections to several hosts.
func (l *Lab) StartOf(local, remote net.Addr) uint32 {
	if local == nil || remote == nil {
		return 0
	}
	start, _ := l.calls.Load(callKey(local, remote))
	number, _ := start.(uint32)
	return number
}

func callKey(local, remote net.Addr) string { return local.String() + " " + remote.String() }
