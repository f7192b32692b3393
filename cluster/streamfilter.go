package cluster

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// streamFilter stands before memberlist's streams and lets through only what
// members send each other: pings and exchanges of state. memberlist would
// allocate what the header of a user message says, however much (its
// readUserMsg), so that one hostile connection could end the process.
type streamFilter struct {
	memberlist.NodeAwareTransport
	out    chan net.Conn
	closed chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
}

// The first bytes of memberlist's streams, from its net.go.
const (
	streamPing     = 0
	streamPushPull = 6
	streamLabel    = 244
	// maxStreams bounds the streams that have not said yet what they want.
	maxStreams = 64
)

func newStreamFilter(inner memberlist.NodeAwareTransport) *streamFilter {
	f := &streamFilter{NodeAwareTransport: inner, out: make(chan net.Conn), closed: make(chan struct{})}
	f.wg.Go(f.run)
	return f
}

// StreamCh implements memberlist.Transport.
func (f *streamFilter) StreamCh() <-chan net.Conn { return f.out }

// Shutdown implements memberlist.Transport.
func (f *streamFilter) Shutdown() error {
	f.once.Do(func() { close(f.closed) })
	return discard(f.NodeAwareTransport)
}

// discard shuts down a gossip transport that nobody reads from any more, or yet.
// It hands over what others send without a buffer and waits for that, so that
// somebody has to take it off its hands.
func discard(t memberlist.NodeAwareTransport) error {
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-t.PacketCh():
			case conn := <-t.StreamCh():
				_ = conn.Close()
			case <-done:
				return
			}
		}
	}()
	return t.Shutdown()
}

// wait returns when nothing of the filter runs any more; call it after Shutdown.
func (f *streamFilter) wait() { f.wg.Wait() }

func (f *streamFilter) run() {
	places := make(chan struct{}, maxStreams)
	for {
		select {
		case <-f.closed:
			return
		case conn := <-f.NodeAwareTransport.StreamCh():
			select {
			case places <- struct{}{}:
				f.wg.Go(func() {
					defer func() { <-places }()
					f.look(conn)
				})
			default:
				_ = conn.Close()
			}
		}
	}
}

func (f *streamFilter) look(conn net.Conn) {
	stop := make(chan struct{})
	defer close(stop)
	go func() { // Shutdown does not wait for a silent peer
		select {
		case <-f.closed:
			_ = conn.SetReadDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	passed, err := peek(conn)
	if err != nil {
		_ = conn.Close()
		return
	}
	select {
	case f.out <- passed:
	case <-f.closed:
		_ = conn.Close()
	}
}

// peekedConn is a connection of which the beginning was looked at.
type peekedConn struct {
	net.Conn
	r *bufio.Reader
}

func (p peekedConn) Read(b []byte) (int, error) { return p.r.Read(b) }

var errForeignStream = errors.New("not a ping and not an exchange of state")

// peek looks at a stream's label and type and takes nothing from it.
func peek(conn net.Conn) (net.Conn, error) {
	if err := conn.SetReadDeadline(time.Now().Add(gossipTimeout)); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	head, err := r.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0] != streamLabel {
		return nil, errForeignStream
	}
	at := 2 + int(head[1])
	head, err = r.Peek(at + 1)
	if err != nil {
		return nil, err
	}
	if kind := head[at]; kind != streamPing && kind != streamPushPull {
		return nil, errForeignStream
	}
	return peekedConn{conn, r}, conn.SetReadDeadline(time.Time{})
}
