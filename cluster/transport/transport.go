package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/internal/accept"
	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/internal/slots"
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
	// Timeout bounds each of raft's requests.
	Timeout = 5 * time.Second
	// PoolSize is the number of connections to each node that are kept.
	PoolSize = 3
)

// StreamLayer carries raft over TCP connections that begin with a handshake, inside TLS if the cluster has a secret.
//
// Raft knows only addresses, so raft's address of a node is "ID@host:port" (see RaftAddress). From that, the dialer knows the
// ID of the node that it wants.
type StreamLayer struct {
	Owner
	listener net.Listener
	keys     *trust.Keys // nil without a secret
	logger   *slog.Logger

	dialed dialedConns
	conns  chan net.Conn
	ctx    context.Context // ends when Close begins
	cancel context.CancelFunc
	once   sync.Once
	wg     sync.WaitGroup
}

// Owner is the part of a node that its StreamLayer needs.
type Owner struct {
	Connect func(ctx context.Context, network, address string) (net.Conn, error) // nil: the machine's network

	Self          func() peer.Meta
	JudgeGreeting func(h Greeting, verified string) Reply // verified is the ID in the caller's certificate; empty without one
	// AddressesOf lists the addresses at which a node may be, the most certain ones first; certain is the number before the hints.
	AddressesOf func(id string) (addresses []string, certain int)
	NoteMet     func(m peer.Meta, at string) // called with the metadata that a node sent at a dialed address
	// EarlierProcess returns the process of m's node that was met before, and its possible addresses; none if that process is m.
	EarlierProcess func(m peer.Meta) (earlier peer.Meta, addresses []string)
	NoteDuplicate  func(m, earlier peer.Meta)     // called when these two processes of one node are both alive
	NoteRefused    func(error)                    // called when a peer refuses this node
	NoteForeign    func(from net.Addr, err error) // called for connections on which TLS or the handshake fails
	Term           func() (term uint64, ok bool)  // returns the current term; ok is false before there is one
	Mark           func() Mark                    // called after term has returned true
	Links          *Links
	AnswerLoss     func(ctx context.Context, candidate string, question Loss) LossReply
	Life           func(ctx context.Context, other string, nonce string) lives.Message
	LearnLife      func(from peer.Meta, theirs lives.Message) lives.Relation
	HearID         func(id, host string) // called when a member hangs up after TLS
	ClaimLife      func(c lives.Claim)   // called with the address of a member that was not expected there
}

// NewStreamLayer returns a layer that accepts connections from l, which it closes, for an owner. keys is nil without a secret.
func NewStreamLayer(l net.Listener, keys *trust.Keys, node Owner, logger *slog.Logger) *StreamLayer {
	if node.Connect == nil {
		node.Connect = new(net.Dialer).DialContext
	}
	s := &StreamLayer{
		Owner: node, listener: l, keys: keys, logger: logger,
		conns: make(chan net.Conn),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.run)
	return s
}

// run accepts connections. Each handshake has its own goroutine, so that a silent connection delays no other.
func (s *StreamLayer) run() {
	shaking := slots.New(maxHandshakes, maxHandshakesFrom)
	after := admitted{
		askers: slots.New(maxTermConns, maxTermConnsFrom),
		peers:  slots.New(maxRaftConns, maxRaftConnsFrom),
		large:  screen.NewLarge(),
	}
	err := accept.Each(s.listener, s.ctx.Done(), func(conn net.Conn) {
		slot, ok := shaking.Take(conn.RemoteAddr(), func() { _ = conn.Close() })
		if !ok {
			_ = conn.Close()
			return
		}
		s.wg.Go(func() {
			defer slot.Release()
			s.serve(conn, slot, &after)
		})
	}, func(err error, pause time.Duration) {
		s.logger.Warn("raft connection not accepted; retrying", "error", err, "retry_after", pause)
	})
	if err != nil {
		s.logger.Error("raft connections are no longer accepted", "error", err)
	}
}

// admitted bounds the connections that have completed the handshake.
type admitted struct {
	askers, peers *slots.Budget
	large         *screen.Large
	refused       lines.Limit
}

// serve runs the handshake on conn. Then it gives conn to raft or answers the questions that arrive on it.
func (s *StreamLayer) serve(conn net.Conn, slot *slots.Slot, after *admitted) {
	if s.keys != nil {
		conn = s.keys.Track(conn) // closed as such after a failure, or the keys would keep it
	}
	secured, said, reply, err := s.acceptHandshake(conn)
	if err != nil {
		s.logger.Debug("raft connection refused", "address", conn.RemoteAddr(), "error", err)
		_ = conn.Close()
		return
	}
	if s.keys != nil { // without a secret, strangers complete the handshake too
		slot.Favor()
	}
	switch said.For {
	case forTerms:
		s.serveTermConn(secured, after.askers)
		return
	case forLoss:
		s.serveLossConn(secured, said.From.ID)
		return
	case ForLives:
		s.serveLifeConn(secured, said.From, reply.Life.Asks)
		return
	}
	placed, ok := takeSlot(screen.RaftRequests(secured, after.large), after.peers)
	if !ok {
		if after.refused.Allow() {
			s.logger.Warn("too many raft connections; closing another", "address", conn.RemoteAddr())
		}
		_ = secured.Close()
		return
	}
	link := &linkedConn{placed, s.Links.Add(Origin{said.From.ID, said.From.Process}, peer.Host(conn.RemoteAddr()))}
	select {
	case s.conns <- link:
	case <-s.ctx.Done():
		_ = link.Close()
	}
}

// acceptHandshake runs the acceptor's side of TLS and of the handshake, and returns the connection, the dialer's message and the reply to it.
func (s *StreamLayer) acceptHandshake(raw net.Conn) (_ net.Conn, said Greeting, reply Reply, err error) {
	if err := raw.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return nil, said, reply, err
	}
	defer endWith(s.ctx, raw)() // Close does not wait for a silent peer
	conn, verified := raw, ""
	from := raw.RemoteAddr()
	if s.keys != nil {
		config, member := detectMember(s.keys.MemberServer(s.Self().ID))
		secured := tls.Server(raw, config)
		if err := secured.Handshake(); err != nil {
			if _, plain := errors.AsType[tls.RecordHeaderError](err); plain || *member {
				s.NoteForeign(from, err)
			}
			return nil, said, reply, err
		}
		verified = s.keys.PeerOf(secured.ConnectionState()).ID
		conn = secured
	}
	var head bytes.Buffer
	said, reply, err = answerGreeting(heardBefore{conn, io.TeeReader(conn, &head)}, func(h Greeting) Reply { return s.judgeProcess(h, verified) })
	if err != nil {
		if !errors.Is(err, peer.ErrEncrypts) || isMember(conn, head.Bytes()) {
			s.NoteForeign(from, err)
		}
		if verified != "" && errors.Is(err, io.EOF) {
			s.HearID(verified, peer.Host(from))
		}
		return nil, said, reply, err
	}
	return conn, said, reply, conn.SetDeadline(time.Time{})
}

// endWith makes the reads and writes of a connection fail from the end of ctx on, unless stop was called before; stop reports that.
func endWith(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
}

// serveTermConn answers questions for the term on conn, in its own goroutine.
func (s *StreamLayer) serveTermConn(conn net.Conn, askers *slots.Budget) {
	placed, ok := takeSlot(conn, askers)
	if !ok {
		_ = conn.Close()
		return
	}
	s.wg.Go(func() {
		defer func() { _ = placed.Close() }()
		defer endWith(s.ctx, placed)()
		serveTerms(placed, s.Term, s.Mark)
	})
}

// Accept implements net.Listener.
func (s *StreamLayer) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *StreamLayer) Close() error {
	var err error
	s.once.Do(func() {
		s.cancel()
		err = s.listener.Close()
		s.wg.Wait()
		s.dialed.closeAll()
	})
	return err
}

// CloseAbandoned closes each connection that this node opened to an address that current no longer returns for its member. It
// reports whether there were any.
func (s *StreamLayer) CloseAbandoned(current func(raft.ServerID) (raft.ServerAddress, error)) bool {
	return s.dialed.closeAbandoned(current)
}

// Addr implements net.Listener. It returns the address at which other nodes reach this node, in raft's form.
func (s *StreamLayer) Addr() net.Addr {
	m := s.Self()
	return advertised(peer.RaftAddress(m.ID, m.Raft))
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

// slottedConn is an established connection with a place. When there are too many, one connection of the address with the most
// connections is closed: the one that has been silent longest. Raft keeps connections that it does not use, and a stranger
// can open any number of connections to an open member.
type slottedConn struct{ slots.Conn }

// takeSlot takes a place for a connection; it returns false if there is none.
func takeSlot(conn net.Conn, at *slots.Budget) (net.Conn, bool) {
	slot, ok := at.Take(conn.RemoteAddr(), func() { _ = conn.Close() })
	if !ok {
		return nil, false
	}
	return &slottedConn{slots.Conn{Conn: conn, Slot: slot}}, true
}

// Read implements net.Conn.
func (c *slottedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.Slot.Heard()
	}
	return n, err
}
