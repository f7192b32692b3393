package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/internal/places"
)

const (
	// maxHandshakes bounds the connections that have not said who they are yet, maxHandshakesFrom those from one
	// address.
	maxHandshakes     = 64
	maxHandshakesFrom = 16
	// maxRaftConns bounds the connections of raft that others opened: a few from each member. Members may
	// share an address.
	maxRaftConns     = 1024
	maxRaftConnsFrom = 512
	transportTimeout = 5 * time.Second
	transportPool    = 3
)

// streamLayer carries raft over TCP connections that began with a handshake.
//
// Raft knows addresses only, so the address it gets for a node is "ID@host:port"
// (see raftAddress): the dialer can then say whom it wants.
type streamLayer struct {
	listener net.Listener
	self     func() meta
	judge    func(hello) handshakeReply
	refused  func(error)                   // told when a peer refuses us
	term     func() (term uint64, ok bool) // the current one, once there is one
	logger   *slog.Logger

	dialed dialed
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
}

func newStreamLayer(l net.Listener, self func() meta, judge func(hello) handshakeReply, refused func(error), term func() (uint64, bool), logger *slog.Logger) *streamLayer {
	s := &streamLayer{
		listener: l, self: self, judge: judge, refused: refused, term: term, logger: logger,
		conns: make(chan net.Conn), closed: make(chan struct{}),
	}
	s.wg.Go(s.run)
	return s
}

// run accepts connections; each shakes hands in its own goroutine, so that a
// silent one holds up nobody.
func (s *streamLayer) run() {
	shaking := places.New(maxHandshakes, maxHandshakesFrom)
	askers, peers := places.New(maxTermConns, maxTermConnsFrom), places.New(maxRaftConns, maxRaftConnsFrom)
	large := screen.NewLarge()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			select {
			case <-s.closed:
				return
			case <-time.After(50 * time.Millisecond): // out of file descriptors, usually
				continue
			}
		}
		place, ok := shaking.Take(conn.RemoteAddr(), nil)
		if !ok {
			_ = conn.Close()
			continue
		}
		s.wg.Go(func() {
			defer place.Release()
			shaken := make(chan struct{})
			defer close(shaken)
			go func() { // Close does not wait for a silent peer
				select {
				case <-s.closed:
					_ = conn.SetDeadline(time.Unix(1, 0))
				case <-shaken:
				}
			}()
			what, err := receive(conn, s.judge)
			if err != nil {
				s.logger.Debug("raft connection refused", "error", err)
				_ = conn.Close()
				return
			}
			if what == forTerms {
				s.answerTerms(conn, askers)
				return
			}
			established, ok := peers.Take(conn.RemoteAddr(), nil)
			if !ok {
				s.logger.Warn("too many raft connections; closing another", "address", conn.RemoteAddr())
				_ = conn.Close()
				return
			}
			placed := &places.Conn{Conn: screen.RaftRequests(conn, large), Place: established}
			select {
			case s.conns <- placed:
			case <-s.closed:
				_ = placed.Close()
			}
		})
	}
}

// answerTerms answers on a connection in a goroutine of its own.
func (s *streamLayer) answerTerms(conn net.Conn, askers *places.Places) {
	place, ok := askers.Take(conn.RemoteAddr(), nil)
	if !ok {
		_ = conn.Close()
		return
	}
	done := make(chan struct{})
	s.wg.Go(func() {
		defer close(done)
		answerTerms(conn, s.term)
		place.Release()
	})
	s.wg.Go(func() {
		select {
		case <-s.closed:
		case <-done:
		}
		_ = conn.Close()
	})
}

// Accept implements net.Listener.
func (s *streamLayer) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Dial implements raft.StreamLayer.
func (s *streamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.dial(address, forRaft, timeout)
}

// dialTerms opens a connection to ask a node for its term on.
func (s *streamLayer) dialTerms(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.dial(address, forTerms, timeout)
}

func (s *streamLayer) dial(address raft.ServerAddress, what purpose, timeout time.Duration) (net.Conn, error) {
	id, addr, ok := strings.Cut(string(address), "@")
	if !ok {
		return nil, fmt.Errorf("the address of the member at %s is not known yet", address)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := greet(conn, hello{From: s.self(), To: id, For: what}, timeout); err != nil {
		_ = conn.Close()
		s.refused(err)
		return nil, fmt.Errorf("member %s at %s: %w", id, addr, err)
	}
	conn = s.dialed.add(conn, raft.ServerID(id), address)
	if what == forRaft {
		conn = screen.RaftAnswers(conn)
	}
	return conn, nil
}

// Greet implements Greeter.
func (s *streamLayer) Greet(id raft.ServerID, address raft.ServerAddress) error {
	conn, err := s.Dial(raftAddress(string(id), string(address)), handshakeTimeout)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Close implements net.Listener.
func (s *streamLayer) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closed)
		err = s.listener.Close()
		s.wg.Wait()
	})
	return err
}

// Addr implements net.Listener: the address that others reach this node at.
func (s *streamLayer) Addr() net.Addr {
	m := s.self()
	return advertised(raftAddress(m.ID, m.Raft))
}

type advertised string

func (advertised) Network() string  { return "tcp" }
func (a advertised) String() string { return string(a) }

// Transport is what raft's messages travel over: *raft.NetworkTransport, or
// *raft.InmemTransport in simulations.
type Transport interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
}

// Greeter shakes hands with a node and leaves it at that. A simulated Transport
// may be one.
type Greeter interface {
	Greet(id raft.ServerID, address raft.ServerAddress) error
}
