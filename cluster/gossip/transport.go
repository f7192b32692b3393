package gossip

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
	"golang.org/x/time/rate"

	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/internal/slots"
)

const (
	// maxStreams bounds the gossip streams that other nodes opened; maxStreamsFrom bounds those from one address. A stream
	// that has not carried a member's request yet is closed to make room for another stream.
	maxStreams     = 64
	maxStreamsFrom = 16
)

// screenedTransport is a gossip transport that passes only messages of members' form to memberlist. With other bytes, memberlist's
// allocations, decompression or indexing could crash the process. The transport checks datagrams, streams that others open,
// and the answers on streams that this node opens to addresses from gossip.
//
// With keys, the transport also seals everything that it sends, and unseals everything that it receives before any other
// check. A recorded datagram can be replayed. It is then stale gossip, which memberlist ignores by its incarnations; and
// questions for clocks contain a random number. Requests on streams are bound to nothing, but a replayed request is stale
// gossip too. Answers on streams are bound to their request.
type screenedTransport struct {
	memberlist.NodeAwareTransport
	keys *keyring
	// misheard is called for each message that cannot be read; answer is true on a stream that this node opened.
	misheard func(from net.Addr, err error, answer bool)
	// undialed is called for each failed connection to a node; may be nil.
	undialed func(to memberlist.Address)

	indirect *rate.Limiter // limits indirect pings
	logger   *slog.Logger
	slots    *slots.Budget
	packets  chan *memberlist.Packet
	streams  chan net.Conn
	lasts    context.Context // ends at the shutdown
	end      context.CancelFunc
	wg       sync.WaitGroup
}

func newScreenedTransport(inner memberlist.NodeAwareTransport, keys *keyring, misheard func(net.Addr, error, bool), logger *slog.Logger) *screenedTransport {
	lasts, end := context.WithCancel(context.Background())
	s := &screenedTransport{
		NodeAwareTransport: inner, keys: keys, misheard: misheard, logger: logger, slots: slots.New(maxStreams, maxStreamsFrom),
		indirect: rate.NewLimiter(maxIndirect, maxIndirect), packets: make(chan *memberlist.Packet), streams: make(chan net.Conn), lasts: lasts, end: end,
	}
	s.wg.Go(s.runPackets)
	s.wg.Go(s.runStreams)
	return s
}

// maxIndirect is the greatest number of indirect pings that are accepted per second. A member requests three indirect pings
// when a probe fails.
const maxIndirect = 100

var errTooMany = errors.New("too many indirect pings")

// PacketCh implements memberlist.Transport.
func (s *screenedTransport) PacketCh() <-chan *memberlist.Packet { return s.packets }

// StreamCh implements memberlist.Transport.
func (s *screenedTransport) StreamCh() <-chan net.Conn { return s.streams }

// dial connects to a node, at most until the shutdown.
func (s *screenedTransport) dial(addr memberlist.Address, timeout time.Duration) (net.Conn, error) {
	type dialed struct {
		conn net.Conn
		err  error
	}
	result := make(chan dialed, 1)
	go func() {
		conn, err := s.NodeAwareTransport.DialAddressTimeout(addr, timeout)
		result <- dialed{conn, err}
	}()
	select {
	case d := <-result:
		return d.conn, d.err
	case <-s.lasts.Done():
		go func() {
			if d := <-result; d.err == nil {
				_ = d.conn.Close()
			}
		}()
		return nil, s.lasts.Err()
	}
}

// DialAddressTimeout implements memberlist.NodeAwareTransport. The shutdown ends it, and closes the connection.
func (s *screenedTransport) DialAddressTimeout(addr memberlist.Address, timeout time.Duration) (net.Conn, error) {
	conn, err := s.dial(addr, timeout)
	if err != nil {
		if s.undialed != nil {
			s.undialed(addr)
		}
		return nil, err
	}
	return newAnsweredConn(s.lasts, conn, s.keys.present(), func(err error) { s.misheard(conn.RemoteAddr(), err, true) }), nil
}

// WriteToAddress implements memberlist.NodeAwareTransport.
func (s *screenedTransport) WriteToAddress(b []byte, addr memberlist.Address) (time.Time, error) {
	if sign := s.keys.present().sign; sign != nil {
		b = screen.Seal(sign, gossipLabel, b)
	}
	return s.NodeAwareTransport.WriteToAddress(b, addr)
}

// WriteTo implements memberlist.Transport.
func (s *screenedTransport) WriteTo(b []byte, addr string) (time.Time, error) {
	return s.WriteToAddress(b, memberlist.Address{Addr: addr})
}

// DialTimeout implements memberlist.Transport.
func (s *screenedTransport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return s.DialAddressTimeout(memberlist.Address{Addr: addr}, timeout)
}

// Shutdown implements memberlist.Transport.
func (s *screenedTransport) Shutdown() error {
	s.end()
	return Discard(s.NodeAwareTransport)
}

// Discard shuts down a gossip transport from which no other goroutine reads. The transport delivers messages through
// unbuffered channels, and its shutdown waits for their delivery. So discard reads the channels until the shutdown is done.
func Discard(t memberlist.NodeAwareTransport) error {
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

// wait waits until all goroutines of the transport have ended. Call it after Shutdown.
func (s *screenedTransport) wait() { s.wg.Wait() }

func (s *screenedTransport) runPackets() {
	for {
		select {
		case <-s.lasts.Done():
			return
		case p := <-s.NodeAwareTransport.PacketCh():
			raw, err := screen.Unseal(s.keys.present().all, gossipLabel, p.Buf)
			if err == nil {
				raw, err = screen.Packet(raw, gossipLabel)
			}
			if err == nil && !s.indirect.AllowN(time.Now(), screen.IndirectPings(raw, gossipLabel)) {
				err = errTooMany
			}
			if err != nil {
				s.noteRefused(p.From, err)
				continue
			}
			p.Buf = raw
			select {
			case s.packets <- p:
			case <-s.lasts.Done():
				return
			}
		}
	}
}

func (s *screenedTransport) runStreams() {
	for {
		select {
		case <-s.lasts.Done():
			return
		case conn := <-s.NodeAwareTransport.StreamCh():
			slot, ok := s.slots.Take(conn.RemoteAddr(), func() { _ = conn.Close() })
			if !ok {
				_ = conn.Close()
				continue
			}
			s.wg.Go(func() {
				s.readRequest(&requestedConn{Conn: slots.Conn{Conn: conn, Slot: slot}, ring: s.keys.present()})
			})
		}
	}
}

// readRequest reads the request of a stranger, and passes the stream on if the request has the form of a member's request.
func (s *screenedTransport) readRequest(conn *requestedConn) {
	stop := make(chan struct{})
	defer close(stop)
	go func() { // Shutdown does not wait for a silent peer
		select {
		case <-s.lasts.Done():
			_ = conn.SetReadDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	if err := conn.readRequest(); err != nil {
		s.noteRefused(conn.RemoteAddr(), err)
		_ = conn.Close()
		return
	}
	select {
	case s.streams <- conn:
	case <-s.lasts.Done():
		_ = conn.Close()
	}
}

func (s *screenedTransport) noteRefused(from net.Addr, err error) {
	s.logger.Debug("gossip message rejected", "address", from, "error", err)
	s.misheard(from, err, false)
}
