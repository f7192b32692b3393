package transport

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/position"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
)

// On a connection that is opened to the Raft port for this purpose, the dialer requests the term with a number of its choice,
// 8 bytes. The acceptor answers with that number and its term, 16 bytes.
//
// In a number with the bit wantsMark, the dialer requests the watermark too. The acceptor sets hasMark in its answer and appends the
// mark. A program that keeps no watermark returns the number as it is.
const (
	termQuestion        = 8
	termAnswer          = 16
	wantsMark    uint64 = 1 << 63
	hasMark      uint64 = 1 << 62
	// maxTermConns bounds the connections on which other nodes request this node's term; maxTermConnsFrom bounds those from
	// one address.
	maxTermConns     = 256
	maxTermConnsFrom = 64
	// termTimeout is the time without an answer after which a connection is closed.
	termTimeout = time.Second
)

// TermClient keeps one connection to each node whose term was requested.
type TermClient struct {
	dial func(address raft.ServerAddress, timeout time.Duration) (net.Conn, error)

	mu     sync.Mutex
	conns  map[raft.ServerAddress]*termConn
	closed error // cause of close; nil before
}

// NewTermClient returns a client that opens its connections with dial.
func NewTermClient(dial func(raft.ServerAddress, time.Duration) (net.Conn, error)) *TermClient {
	return &TermClient{dial: dial, conns: make(map[raft.ServerAddress]*termConn)}
}

// AskTerm implements Asker.
func (t *TermClient) AskTerm(ctx context.Context, id raft.ServerID, address raft.ServerAddress) (uint64, error) {
	a, err := t.ask(ctx, id, address, 0)
	return a.term, err
}

// AskMark implements Asker.
func (t *TermClient) AskMark(ctx context.Context, id raft.ServerID, address raft.ServerAddress) (Mark, error) {
	a, err := t.ask(ctx, id, address, wantsMark)
	return a.mark, err
}

func (t *TermClient) ask(ctx context.Context, id raft.ServerID, address raft.ServerAddress, wants uint64) (answer, error) {
	c, err := t.conn(peer.RaftAddress(string(id), peer.HostPort(address)))
	if err != nil {
		return answer{}, err
	}
	return c.ask(ctx, wants)
}

// answer holds the answer of a node.
type answer struct {
	term uint64
	mark Mark // zero if it was not requested
}

// conn returns the connection to a node. The first call, and the first call after a failure, dials.
func (t *TermClient) conn(address raft.ServerAddress) (*termConn, error) {
	t.mu.Lock()
	if err := t.closed; err != nil {
		t.mu.Unlock()
		return nil, err
	}
	c := t.conns[address]
	if c == nil {
		c = &termConn{ready: make(chan struct{}), asked: make(map[uint64]chan answer)}
		t.conns[address] = c
		go c.open(t, address)
	}
	t.mu.Unlock()
	return c, nil
}

func (t *TermClient) forget(address raft.ServerAddress, c *termConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns[address] == c {
		delete(t.conns, address)
	}
}

// HangUp closes the connections, which a node needs only while it leads. Questions in progress fail with the cause.
func (t *TermClient) HangUp(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		c.fail(cause)
	}
}

// Close closes the connections; all questions fail with the cause from now on.
func (t *TermClient) Close(cause error) {
	t.mu.Lock()
	t.closed = cause
	t.mu.Unlock()
	t.HangUp(cause)
}

// termConn is a connection on which this node requests a term. A request does not wait for the answers to earlier requests.
type termConn struct {
	ready   chan struct{} // closed once conn or err is set
	writing sync.Mutex    // separate from mu, because a write may wait until the other side reads

	mu     sync.Mutex
	conn   net.Conn               // unchanged once ready
	err    error                  // reason for which the connection is no longer usable
	number uint64                 // number of the last question
	asked  map[uint64]chan answer // waiting callers, by the number of their question; closed if there is no answer
}

// open dials a node, and then reads answers until the connection fails.
func (c *termConn) open(t *TermClient, address raft.ServerAddress) {
	conn, err := t.dial(address, termTimeout)
	c.mu.Lock()
	c.conn = conn
	if err == nil && c.err != nil { // the connection failed meanwhile
		_ = conn.Close()
	}
	c.mu.Unlock()
	if err != nil {
		c.fail(err)
	}
	close(c.ready)
	for err == nil {
		err = c.read(conn)
	}
	c.fail(err)
	t.forget(address, c)
}

func (c *termConn) read(conn net.Conn) error {
	var head [termAnswer]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	number, a := binary.BigEndian.Uint64(head[:]), answer{term: binary.BigEndian.Uint64(head[termQuestion:])}
	if number&hasMark != 0 {
		var err error
		if a.mark, err = readMark(conn); err != nil {
			return err
		}
		number &^= hasMark
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting := c.asked[number]; waiting != nil {
		waiting <- a
		delete(c.asked, number)
	}
	return nil
}

// fail closes the connection and wakes the waiting callers.
func (c *termConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.conn != nil {
		_ = c.conn.Close()
	}
	for number, waiting := range c.asked {
		close(waiting)
		delete(c.asked, number)
	}
}

func (c *termConn) ask(ctx context.Context, wants uint64) (answer, error) {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	number, answered, err := c.question(wants)
	if err != nil {
		return answer{}, err
	}
	timeout := time.NewTimer(termTimeout)
	defer timeout.Stop()
	select {
	case a, ok := <-answered:
		if !ok {
			return answer{}, fmt.Errorf("%w: the connection broke", peer.ErrUnreachable)
		}
		return a, nil
	case <-timeout.C:
		c.fail(peer.ErrUnreachable)
		return answer{}, peer.ErrUnreachable
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.asked, number)
		c.mu.Unlock()
		return answer{}, ctx.Err()
	}
}

// question sends a question. It returns the question's number and the channel that receives the answer.
func (c *termConn) question(wants uint64) (number uint64, answered chan answer, err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return 0, nil, c.err
	}
	c.number++
	number, answered = c.number|wants, make(chan answer, 1)
	c.asked[number] = answered
	c.mu.Unlock()

	var question [termQuestion]byte
	binary.BigEndian.PutUint64(question[:], number)
	c.writing.Lock()
	defer c.writing.Unlock()
	err = c.conn.SetWriteDeadline(time.Now().Add(termTimeout))
	if err == nil {
		_, err = c.conn.Write(question[:])
	}
	if err != nil {
		c.fail(err) // a part of the question may have been written
		return 0, nil, err
	}
	return number, answered, nil
}

// serveTerms answers questions on a connection until the connection fails or this node has no term yet. Without an answer, no
// caller concludes that this node has seen no later term.
func serveTerms(conn net.Conn, current func() (term uint64, ok bool), mark func() Mark) {
	var question [termQuestion]byte
	for {
		if _, err := io.ReadFull(conn, question[:]); err != nil {
			return
		}
		term, ok := current()
		if !ok {
			return
		}
		number := binary.BigEndian.Uint64(question[:])
		var marked []byte
		if number&wantsMark != 0 {
			number |= hasMark
			marked = mark().append(nil)
		}
		answer := binary.BigEndian.AppendUint64(nil, number)
		answer = append(binary.BigEndian.AppendUint64(answer, term), marked...)
		if err := conn.SetWriteDeadline(time.Now().Add(termTimeout)); err != nil {
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// Mark is a voter's answer to its leader: the watermark, and the number of committed entries that its log lacked at its start.
type Mark struct {
	position.Position
	Lost uint64
}

const markSize = position.Size + 8

func (m Mark) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(m.Position.Append(b), m.Lost)
}

func readMark(from io.Reader) (m Mark, err error) {
	var raw [markSize]byte
	if _, err := io.ReadFull(from, raw[:]); err != nil {
		return Mark{}, err
	}
	m.Position, err = position.Parse(raw[:position.Size])
	m.Lost = binary.BigEndian.Uint64(raw[position.Size:])
	return m, err
}
