package cluster

import (
	"bufio"
	"bytes"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/internal/places"
)

const (
	// maxStreams bounds the gossip streams that others opened, maxStreamsFrom those from one address.
	maxStreams     = 64
	maxStreamsFrom = 16
)

// screened is a gossip transport on which only what has the form of members' messages reaches memberlist: what
// it would allocate, decompress or index for other bytes could end the process. Datagrams and streams that others
// open are looked at, and so are the answers on streams that this node opens, to whatever address gossip named.
type screened struct {
	memberlist.NodeAwareTransport
	logger  *slog.Logger
	places  *places.Places
	packets chan *memberlist.Packet
	streams chan net.Conn
	closed  chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

func newScreened(inner memberlist.NodeAwareTransport, logger *slog.Logger) *screened {
	s := &screened{
		NodeAwareTransport: inner, logger: logger, places: places.New(maxStreams, maxStreamsFrom),
		packets: make(chan *memberlist.Packet), streams: make(chan net.Conn), closed: make(chan struct{}),
	}
	s.wg.Go(s.runPackets)
	s.wg.Go(s.runStreams)
	return s
}

// PacketCh implements memberlist.Transport.
func (s *screened) PacketCh() <-chan *memberlist.Packet { return s.packets }

// StreamCh implements memberlist.Transport.
func (s *screened) StreamCh() <-chan net.Conn { return s.streams }

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (s *screened) DialAddressTimeout(addr memberlist.Address, timeout time.Duration) (net.Conn, error) {
	conn, err := s.NodeAwareTransport.DialAddressTimeout(addr, timeout)
	if err != nil {
		return nil, err
	}
	return &answeredConn{Conn: conn}, nil
}

// Shutdown implements memberlist.Transport.
func (s *screened) Shutdown() error {
	s.once.Do(func() { close(s.closed) })
	return discard(s.NodeAwareTransport)
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

// wait returns when nothing of the screen runs any more; call it after Shutdown.
func (s *screened) wait() { s.wg.Wait() }

func (s *screened) runPackets() {
	for {
		select {
		case <-s.closed:
			return
		case p := <-s.NodeAwareTransport.PacketCh():
			raw, err := screen.Packet(p.Buf, gossipLabel)
			if err != nil {
				s.refused(p.From, err)
				continue
			}
			p.Buf = raw
			select {
			case s.packets <- p:
			case <-s.closed:
				return
			}
		}
	}
}

func (s *screened) runStreams() {
	for {
		select {
		case <-s.closed:
			return
		case conn := <-s.NodeAwareTransport.StreamCh():
			place, ok := s.places.Take(conn.RemoteAddr(), nil)
			if !ok {
				_ = conn.Close()
				continue
			}
			s.wg.Go(func() { s.look(&requestedConn{Conn: places.Conn{Conn: conn, Place: place}}) })
		}
	}
}

// look reads what a stranger wants, and hands the stream on if it is what members want.
func (s *screened) look(conn *requestedConn) {
	stop := make(chan struct{})
	defer close(stop)
	go func() { // Shutdown does not wait for a silent peer
		select {
		case <-s.closed:
			_ = conn.SetReadDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	if err := conn.hear(); err != nil {
		s.refused(conn.RemoteAddr(), err)
		_ = conn.Close()
		return
	}
	select {
	case s.streams <- conn:
	case <-s.closed:
		_ = conn.Close()
	}
}

func (s *screened) refused(from net.Addr, err error) {
	s.logger.Debug("gossip message rejected", "address", from, "error", err)
}

// requestedConn is a stream that another opened.
type requestedConn struct {
	places.Conn
	said bytes.Reader // the whole request; nothing follows it
}

func (c *requestedConn) hear() error {
	if err := c.SetReadDeadline(time.Now().Add(gossipTimeout)); err != nil {
		return err
	}
	said, err := screen.Request(bufio.NewReader(c.Conn), gossipLabel, maxPeers)
	if err != nil {
		return err
	}
	c.said.Reset(said)
	return c.SetReadDeadline(time.Time{})
}

// Read implements net.Conn.
func (c *requestedConn) Read(b []byte) (int, error) { return c.said.Read(b) }

// answeredConn is a stream that this node opened. Its first Read waits for the whole answer.
type answeredConn struct {
	net.Conn
	said *bytes.Reader // nil before the answer; nothing follows it
}

// Read implements net.Conn.
func (c *answeredConn) Read(b []byte) (int, error) {
	if c.said == nil {
		said, err := screen.Answer(bufio.NewReader(c.Conn), maxPeers)
		if err != nil {
			return 0, err
		}
		c.said = bytes.NewReader(said)
	}
	return c.said.Read(b)
}
