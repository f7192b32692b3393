//go:build linux

package network

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// originalDst is the socket option for the original destination of a redirected connection.
const originalDst = 80 // SO_ORIGINAL_DST

// patienceToDial is the time limit of a relay to reach a peer. Members give up earlier.
const patienceToDial = 10 * time.Second

var errStopped = errors.New("delay is healed")

// A relay accepts redirected connections, opens a connection to the original destination of each, and passes the bytes on
// later. It runs inside its host.
type relay struct {
	host          *Host
	mark          int // mark of the relay's own packets, which no rule redirects back
	delay, jitter time.Duration

	taken     atomic.Int64 // number of accepted connections
	listener  net.Listener
	accepting sync.WaitGroup

	mu       sync.Mutex // held while carrying begins and while stopping is canceled
	stopping context.Context
	cancel   context.CancelFunc
	carrying sync.WaitGroup
}

func newRelay(host *Host, mark int, delay, jitter time.Duration) *relay {
	r := &relay{host: host, mark: mark, delay: delay, jitter: jitter}
	r.stopping, r.cancel = context.WithCancel(context.Background())
	return r
}

// start starts the relay and returns the port on which it accepts connections.
func (r *relay) start() (port int, err error) {
	var cfg net.ListenConfig
	cfg.SetMultipathTCP(false) // MPTCP sockets do not report the original destination
	err = r.host.Do(func() (err error) {
		r.listener, err = cfg.Listen(r.stopping, "tcp4", "127.0.0.1:0")
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("start relay: %w", err)
	}
	r.accepting.Go(r.accept)
	return int(r.address().Port()), nil
}

func (r *relay) address() netip.AddrPort {
	address, _ := netip.ParseAddrPort(r.listener.Addr().String())
	return address
}

// refuse resets all connections, and makes accept reset every later one.
func (r *relay) refuse() {
	r.mu.Lock()
	r.cancel()
	r.mu.Unlock()
	r.carrying.Wait()
}

// stop resets all connections and returns when all goroutines of the relay have ended.
func (r *relay) stop() {
	r.refuse()
	_ = r.listener.Close()
	r.accepting.Wait()
}

func (r *relay) accept() {
	for {
		conn, err := r.listener.Accept()
		switch {
		case err == nil:
			r.take(conn.(*net.TCPConn))
		case errors.Is(err, net.ErrClosed):
			return
		default: // too many open files, for example
			<-time.NewTimer(10 * time.Millisecond).C
		}
	}
}

func (r *relay) take(app *net.TCPConn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping.Err() != nil {
		reset(app)
		return
	}
	r.taken.Add(1)
	r.carrying.Go(func() { r.carry(app) })
}

// carry passes bytes on in both directions until both have ended or one fails.
func (r *relay) carry(app *net.TCPConn) {
	peer, err := r.dial(app)
	if err != nil {
		reset(app)
		return
	}
	both := func() { reset(app); reset(peer) }
	unregister := context.AfterFunc(r.stopping, both)
	defer unregister()
	failed := make(chan error, 2)
	r.carrying.Go(func() { failed <- r.pass(peer, app) })
	r.carrying.Go(func() { failed <- r.pass(app, peer) })
	if err := <-failed; err != nil {
		both()
	}
	if err := <-failed; err != nil {
		both()
	}
	_, _ = app.Close(), peer.Close()
}

// reset closes a connection so that the peer receives an error instead of an orderly end.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// dial opens a connection to the original destination of app.
func (r *relay) dial(app *net.TCPConn) (*net.TCPConn, error) {
	raw, err := app.SyscallConn()
	if err != nil {
		return nil, err
	}
	var asked *unix.IPv6Mreq // has room for a sockaddr_in
	failed := raw.Control(func(fd uintptr) {
		asked, err = unix.GetsockoptIPv6Mreq(int(fd), unix.SOL_IP, originalDst)
	})
	if err := errors.Join(failed, err); err != nil {
		return nil, err
	}
	b := asked.Multiaddr
	to := netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:4]))
	if to == r.address() {
		return nil, errors.New("connection was not redirected")
	}
	dialer := net.Dialer{Timeout: patienceToDial, Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, r.mark) })
		return errors.Join(failed, err)
	}}
	var peer net.Conn
	err = r.host.Do(func() (err error) {
		peer, err = dialer.DialContext(r.stopping, "tcp4", to.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	return peer.(*net.TCPConn), nil
}

// wait returns a random delay for the next bytes.
func (r *relay) wait() time.Duration {
	if r.jitter == 0 {
		return r.delay
	}
	return r.delay + rand.N(r.jitter)
}
