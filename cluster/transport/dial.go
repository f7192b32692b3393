package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/trust"
)

// Dial implements raft.StreamLayer.
func (s *StreamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.dial(address, forRaft, timeout)
}

// DialTerms opens a connection on which this node can request the term of another node.
func (s *StreamLayer) DialTerms(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.dial(address, forTerms, timeout)
}

// dial connects to a node at any of its possible addresses. It tries the address in its Raft address last.
func (s *StreamLayer) dial(address raft.ServerAddress, what purpose, timeout time.Duration) (net.Conn, error) {
	id, addr, ok := strings.Cut(string(address), "@")
	if !ok {
		return nil, fmt.Errorf("the address of the member at %s is not known yet", address)
	}
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	addresses, certain := s.AddressesOf(id)
	if !slices.Contains(addresses, addr) {
		addresses = append(addresses, addr)
	}
	conn, err := dialFirst(ctx, addresses, func(ctx context.Context, i int) (net.Conn, error) {
		conn, err := s.dialAddress(ctx, id, addresses[i], what)
		if err != nil && (s.keys != nil || i < certain) { // any program may be at a hint
			s.NoteRefused(err)
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

// dialAddress connects to a node at an address. It fails if an earlier process of that node is still alive.
func (s *StreamLayer) dialAddress(ctx context.Context, id, addr string, what purpose) (net.Conn, error) {
	conn, from, err := s.greet(ctx, id, addr, what)
	if err != nil {
		return nil, err
	}
	if _, duplicated := s.duplicated(ctx, from, addr); duplicated {
		return nil, errors.Join(fmt.Errorf("%s: an earlier process of this member is alive", addr), conn.Close())
	}
	s.NoteMet(from, addr)
	return conn, nil
}

// greet runs the dialer's side of TLS and of the handshake at an address, and returns the node's own metadata.
func (s *StreamLayer) greet(ctx context.Context, id, addr string, what purpose) (_ net.Conn, from peer.Meta, err error) {
	raw, err := s.Connect(ctx, "tcp", addr)
	if err != nil {
		return nil, peer.Meta{}, err
	}
	stop := endWith(ctx, raw)
	defer stop()
	conn := raw
	defer func() {
		if err != nil {
			_ = conn.Close()
			err = fmt.Errorf("%s: %w", addr, err)
		}
	}()
	if s.keys != nil {
		secured, err := s.keys.ConnectMember(ctx, raw, s.Self().ID, id, memberProtocol)
		if errors.Is(err, trust.ErrOtherMember) {
			s.ClaimLife(lives.Claim{Address: addr})
		}
		if err != nil {
			s.NoteForeign(raw.RemoteAddr(), err)
			return nil, peer.Meta{}, err
		}
		conn = secured
	}
	if from, err = sendGreeting(conn, Greeting{From: s.Self(), To: id, For: what}); err != nil {
		if trust.Refused(err) {
			s.NoteForeign(raw.RemoteAddr(), err)
		}
		return nil, peer.Meta{}, err
	}
	if from.ID != id {
		return nil, peer.Meta{}, fmt.Errorf("the member at this address has the ID %q", from.ID)
	}
	if !stop() {
		return nil, peer.Meta{}, ctx.Err()
	}
	return conn, from, conn.SetDeadline(time.Time{})
}

// Greet returns an error unless the node at an address has the ID and accepts this node.
func (s *StreamLayer) Greet(id raft.ServerID, address raft.ServerAddress) error {
	conn, err := s.Dial(peer.RaftAddress(string(id), string(address)), handshakeTimeout)
	if err != nil {
		return err
	}
	return conn.Close()
}

// probeTimeout bounds the wait for an earlier process. The wait delays members that were restarted at other addresses.
const probeTimeout = time.Second

// duplicated returns the process of m's node that was met before m, if that process is alive. at is the dialed address at
// which m answered, or empty if m dialed this node.
func (s *StreamLayer) duplicated(ctx context.Context, m peer.Meta, at string) (earlier peer.Meta, alive bool) {
	earlier, addresses := s.EarlierProcess(m)
	addresses = slices.DeleteFunc(addresses, func(a string) bool { return a == at })
	if len(addresses) == 0 {
		return peer.Meta{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := dialFirst(ctx, addresses, func(ctx context.Context, i int) (net.Conn, error) {
		conn, from, err := s.greet(ctx, m.ID, addresses[i], forRaft)
		if err == nil && from.Process != earlier.Process {
			err = errors.Join(errors.New("the process has changed"), conn.Close())
		}
		return conn, err
	})
	if err != nil {
		return peer.Meta{}, false
	}
	_ = conn.Close()
	s.NoteDuplicate(m, earlier)
	return earlier, true
}

// judgeProcess judges a caller, after a check whether another process of its node is alive.
func (s *StreamLayer) judgeProcess(h Greeting, verified string) Reply {
	if h.For != ForLives && (s.keys == nil || h.From.ID == verified) {
		if earlier, alive := s.duplicated(s.ctx, h.From, ""); alive {
			return Reply{Refused: duplicate, Detail: "one with the Raft address " + earlier.Raft + " was met before and is alive", Why: "its data directory was copied"}
		}
	}
	return s.JudgeGreeting(h, verified)
}

// dialedConns holds the connections that this node opened and has not closed. Raft's pool keeps connections until they fail, even
// connections to an address that no member has any longer.
type dialedConns struct {
	mu    sync.Mutex
	conns map[*dialedConn]bool
}

type dialedConn struct {
	net.Conn
	id raft.ServerID
	to raft.ServerAddress
	of *dialedConns
}

func (d *dialedConns) add(conn net.Conn, id raft.ServerID, to raft.ServerAddress) net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns == nil {
		d.conns = make(map[*dialedConn]bool)
	}
	c := &dialedConn{conn, id, to, d}
	d.conns[c] = true
	return c
}

// Close implements net.Conn.
func (c *dialedConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// closeAll closes all connections, from which the other nodes learn that this node stopped.
func (d *dialedConns) closeAll() {
	d.closeAbandoned(func(raft.ServerID) (raft.ServerAddress, error) { return "", net.ErrClosed })
}

// closeAbandoned closes each connection whose address is no longer the current address of its member, or whose member is no
// longer known. It reports whether there were any.
func (d *dialedConns) closeAbandoned(current func(raft.ServerID) (raft.ServerAddress, error)) bool {
	var abandoned []*dialedConn
	d.mu.Lock()
	for c := range d.conns {
		if address, err := current(c.id); err != nil || address != c.to {
			abandoned = append(abandoned, c)
		}
	}
	d.mu.Unlock()
	for _, c := range abandoned {
		_ = c.Close()
	}
	return len(abandoned) > 0
}

// headStart is the time after which the next address is also tried.
const headStart = 250 * time.Millisecond

// dialFirst tries addresses in their order and returns the first connection. It tries the next address when all earlier ones have
// failed, or a head start has passed. So a wrong address delays the connection by at most headStart, and an address behind a
// working one does not delay it at all.
func dialFirst(ctx context.Context, addresses []string, try func(ctx context.Context, i int) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result) // unbuffered, so that no late connection is left open
	tried, failed := 0, 0
	next := func() {
		i := tried
		tried++
		go func() {
			conn, err := try(ctx, i)
			select {
			case results <- result{conn, err}:
			case <-ctx.Done():
				if err == nil {
					_ = conn.Close()
				}
			}
		}()
	}
	var errs []error
	for failed < len(addresses) {
		if tried == failed {
			next()
		}
		head := time.NewTimer(headStart)
		select {
		case r := <-results:
			head.Stop()
			if r.err == nil {
				return r.conn, nil
			}
			errs = append(errs, r.err)
			failed++
		case <-head.C:
			if tried < len(addresses) {
				next()
			}
		case <-ctx.Done():
			head.Stop()
			return nil, errors.Join(append(errs, ctx.Err())...)
		}
	}
	return nil, errors.Join(errs...)
}
