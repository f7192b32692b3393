package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/internal/places"
	"github.com/snowraft/snowraft/trust"
)

const (
	// maxHandshakes bounds the connections that have not completed the handshake; maxHandshakesFrom bounds those from one
	// address.
	maxHandshakes     = 1024
	maxHandshakesFrom = 256
	// maxRaftConns bounds the Raft connections that other nodes opened: a few from each member. maxRaftConnsFrom bounds those
	// from one address, which several members may share.
	maxRaftConns     = 1024
	maxRaftConnsFrom = 512
	transportTimeout = 5 * time.Second
	transportPool    = 3
)

// streamLayer carries raft over TCP connections that begin with a handshake, inside TLS if the cluster has a secret.
//
// Raft knows only addresses, so raft's address of a node is "ID@host:port" (see raftAddress). From that, the dialer knows the
// ID of the node that it wants.
type streamLayer struct {
	peering
	listener net.Listener
	keys     *trust.Keys // nil without a secret
	logger   *slog.Logger

	dialed dialed
	conns  chan net.Conn
	ctx    context.Context // ends when Close begins
	cancel context.CancelFunc
	once   sync.Once
	wg     sync.WaitGroup
}

// peering is the part of a node that its streamLayer needs.
type peering struct {
	self  func() meta
	judge func(h hello, verified string) handshakeReply // verified is the ID in the caller's certificate; empty without one
	// where lists the addresses at which a node may be, the most certain ones first; certain is the number before the hints.
	where func(id string) (addresses []string, certain int)
	met   func(m meta, at string) // called with the metadata that a node sent at a dialed address
	// earlier returns the process of m's node that was met before, and its possible addresses; none if that process is m.
	earlier   func(m meta) (earlier meta, addresses []string)
	duplicate func(m, earlier meta)          // called when these two processes of one node are both alive
	refused   func(error)                    // called when a peer refuses this node
	foreign   func(from net.Addr, err error) // called for connections on which TLS or the handshake fails
	term      func() (term uint64, ok bool)  // returns the current term; ok is false before there is one
	links     *links
	witness   func(ctx context.Context, candidate string, question Loss) LossReply
}

func newStreamLayer(l net.Listener, keys *trust.Keys, node peering, logger *slog.Logger) *streamLayer {
	s := &streamLayer{
		peering: node, listener: l, keys: keys, logger: logger,
		conns: make(chan net.Conn),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.run)
	return s
}

// run accepts connections. Each handshake has its own goroutine, so that a silent connection delays no other.
func (s *streamLayer) run() {
	shaking := places.New(maxHandshakes, maxHandshakesFrom)
	askers, peers := places.New(maxTermConns, maxTermConnsFrom), places.New(maxRaftConns, maxRaftConnsFrom)
	large := screen.NewLarge()
	var refused lines.Limit
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(50 * time.Millisecond): // usually, no file descriptor is free
				continue
			}
		}
		place, ok := shaking.Take(conn.RemoteAddr(), func() { _ = conn.Close() })
		if !ok {
			_ = conn.Close()
			continue
		}
		s.wg.Go(func() {
			defer place.Release()
			secured, said, err := s.shake(conn)
			if err != nil {
				s.logger.Debug("raft connection refused", "address", conn.RemoteAddr(), "error", err)
				_ = conn.Close()
				return
			}
			if s.keys != nil { // without a secret, strangers complete the handshake too
				place.Favor()
			}
			switch said.For {
			case forTerms:
				s.answerTerms(secured, askers)
				return
			case forLoss:
				s.answerLoss(secured, said.From.ID)
				return
			}
			placed, ok := seated(screen.RaftRequests(secured, large), peers)
			if !ok {
				if refused.Allow() {
					s.logger.Warn("too many raft connections; closing another", "address", conn.RemoteAddr())
				}
				_ = secured.Close()
				return
			}
			link := &linkedConn{placed, s.links.add(origin{said.From.ID, said.From.Process})}
			select {
			case s.conns <- link:
			case <-s.ctx.Done():
				_ = link.Close()
			}
		})
	}
}

// shake runs the acceptor's side of TLS and of the handshake, and returns the connection and the dialer's message.
func (s *streamLayer) shake(raw net.Conn) (net.Conn, hello, error) {
	shaken := make(chan struct{})
	defer close(shaken)
	if err := raw.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return nil, hello{}, err
	}
	go func() { // Close does not wait for a silent peer
		select {
		case <-s.ctx.Done():
			_ = raw.SetDeadline(time.Unix(1, 0))
		case <-shaken:
		}
	}()
	conn, verified := raw, ""
	from := raw.RemoteAddr()
	if s.keys != nil {
		secured := tls.Server(s.keys.Track(raw), s.keys.MemberServer(s.self().ID))
		if err := secured.Handshake(); err != nil {
			s.foreign(from, err)
			return nil, hello{}, err
		}
		verified = s.keys.PeerOf(secured.ConnectionState()).ID
		conn = secured
	}
	said, err := receive(conn, func(h hello) handshakeReply { return s.receptive(h, verified) })
	if err != nil {
		s.foreign(from, err)
		return nil, hello{}, err
	}
	return conn, said, conn.SetDeadline(time.Time{})
}

// answerTerms answers questions for the term on conn, in its own goroutine.
func (s *streamLayer) answerTerms(conn net.Conn, askers *places.Places) {
	placed, ok := seated(conn, askers)
	if !ok {
		_ = conn.Close()
		return
	}
	done := make(chan struct{})
	s.wg.Go(func() {
		defer close(done)
		answerTerms(placed, s.term)
	})
	s.wg.Go(func() {
		select {
		case <-s.ctx.Done():
		case <-done:
		}
		_ = placed.Close()
	})
}

// Accept implements net.Listener.
func (s *streamLayer) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Dial implements raft.StreamLayer.
func (s *streamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.dial(address, forRaft, timeout)
}

// dialTerms opens a connection on which this node can request the term of another node.
func (s *streamLayer) dialTerms(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.dial(address, forTerms, timeout)
}

// dial connects to a node at any of its possible addresses. It tries the address in its Raft address last.
func (s *streamLayer) dial(address raft.ServerAddress, what purpose, timeout time.Duration) (net.Conn, error) {
	id, addr, ok := strings.Cut(string(address), "@")
	if !ok {
		return nil, fmt.Errorf("the address of the member at %s is not known yet", address)
	}
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	addresses, certain := s.where(id)
	if !slices.Contains(addresses, addr) {
		addresses = append(addresses, addr)
	}
	conn, err := race(ctx, addresses, func(ctx context.Context, i int) (net.Conn, error) {
		conn, err := s.try(ctx, id, addresses[i], what)
		if err != nil && (s.keys != nil || i < certain) { // any program may be at a hint
			s.refused(err)
		}
		return conn, err
	})
	if err != nil {
		return nil, fmt.Errorf("member %s: %w", id, err)
	}
	conn = s.dialed.add(conn, raft.ServerID(id), address)
	if what == forRaft {
		conn = screen.RaftAnswers(conn)
	}
	return conn, nil
}

// try connects to a node at an address. It fails if an earlier process of that node is still alive.
func (s *streamLayer) try(ctx context.Context, id, addr string, what purpose) (net.Conn, error) {
	conn, from, err := s.greet(ctx, id, addr, what)
	if err != nil {
		return nil, err
	}
	if _, duplicated := s.duplicated(ctx, from, addr); duplicated {
		return nil, errors.Join(fmt.Errorf("%s: an earlier process of this member is alive", addr), conn.Close())
	}
	s.met(from, addr)
	return conn, nil
}

// greet runs the dialer's side of TLS and of the handshake at an address, and returns the node's own metadata.
func (s *streamLayer) greet(ctx context.Context, id, addr string, what purpose) (_ net.Conn, from meta, err error) {
	var d net.Dialer
	raw, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, meta{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	conn := raw
	defer func() {
		if err != nil {
			_ = conn.Close()
			err = fmt.Errorf("%s: %w", addr, err)
		}
	}()
	if s.keys != nil {
		secured, err := s.keys.ConnectMember(ctx, raw, s.self().ID, id)
		if err != nil {
			s.foreign(raw.RemoteAddr(), err)
			return nil, meta{}, err
		}
		conn = secured
	}
	if from, err = greet(conn, hello{From: s.self(), To: id, For: what}); err != nil {
		if trust.Refused(err) {
			s.foreign(raw.RemoteAddr(), err)
		}
		return nil, meta{}, err
	}
	if from.ID != id {
		return nil, meta{}, fmt.Errorf("the member at this address has the ID %q", from.ID)
	}
	if !stop() {
		return nil, meta{}, ctx.Err()
	}
	return conn, from, conn.SetDeadline(time.Time{})
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
		s.cancel()
		err = s.listener.Close()
		s.wg.Wait()
		s.dialed.closeAll()
	})
	return err
}

// Addr implements net.Listener. It returns the address at which other nodes reach this node, in raft's form.
func (s *streamLayer) Addr() net.Addr {
	m := s.self()
	return advertised(raftAddress(m.ID, m.Raft))
}

type advertised string

func (advertised) Network() string  { return "tcp" }
func (a advertised) String() string { return string(a) }

// Transport carries raft's messages: *raft.NetworkTransport, or *raft.InmemTransport in simulations.
type Transport interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
}

// Greeter shakes hands with a node and sends nothing more. A simulated Transport may implement it.
type Greeter interface {
	// Greet returns an error unless the node at the address has the ID and accepts this node.
	Greet(id raft.ServerID, address raft.ServerAddress) error
}
