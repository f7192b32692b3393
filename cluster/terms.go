package cluster

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// TermAsker requests the current term of a node. A simulated Transport may implement it.
type TermAsker interface {
	// AskTerm returns the term at some moment after the call began.
	AskTerm(ctx context.Context, id raft.ServerID, address raft.ServerAddress) (term uint64, err error)
}

// On a connection that is opened to the Raft port for this purpose, the dialer requests the term with a number of its choice,
// 8 bytes. The acceptor answers with that number and its term, 16 bytes.
const (
	termQuestion = 8
	termAnswer   = 16
	// maxTermConns bounds the connections on which other nodes request this node's term; maxTermConnsFrom bounds those from
	// one address.
	maxTermConns     = 256
	maxTermConnsFrom = 64
	// termTimeout is the time without an answer after which a connection is closed.
	termTimeout = time.Second
)

// terms keeps one connection to each node whose term was requested.
type terms struct {
	dial func(address raft.ServerAddress, timeout time.Duration) (net.Conn, error)

	mu     sync.Mutex
	conns  map[raft.ServerAddress]*termConn
	closed bool
}

func newTerms(dial func(raft.ServerAddress, time.Duration) (net.Conn, error)) *terms {
	return &terms{dial: dial, conns: make(map[raft.ServerAddress]*termConn)}
}

// AskTerm implements TermAsker.
func (t *terms) AskTerm(ctx context.Context, id raft.ServerID, address raft.ServerAddress) (uint64, error) {
	c, err := t.conn(raftAddress(string(id), HostPort(address)))
	if err != nil {
		return 0, err
	}
	return c.ask(ctx)
}

// conn returns the connection to a node. The first call, and the first call after a failure, dials.
func (t *terms) conn(address raft.ServerAddress) (*termConn, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, ErrClosed
	}
	c := t.conns[address]
	if c == nil {
		c = &termConn{ready: make(chan struct{}), asked: make(map[uint64]chan uint64)}
		t.conns[address] = c
		go c.open(t, address)
	}
	t.mu.Unlock()
	return c, nil
}

func (t *terms) forget(address raft.ServerAddress, c *termConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns[address] == c {
		delete(t.conns, address)
	}
}

// hangUp closes the connections, which a node needs only while it leads.
func (t *terms) hangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		c.fail(ErrNotLeader)
	}
}

func (t *terms) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.hangUp()
}

// termConn is a connection on which this node requests a term. A request does not wait for the answers to earlier requests.
type termConn struct {
	ready   chan struct{} // closed once conn or err is set
	writing sync.Mutex    // separate from mu, because a write may wait until the other side reads

	mu     sync.Mutex
	conn   net.Conn               // unchanged once ready
	err    error                  // reason for which the connection is no longer usable
	number uint64                 // number of the last question
	asked  map[uint64]chan uint64 // waiting callers, by the number of their question; closed if there is no answer
}

// open dials a node, and then reads answers until the connection fails.
func (c *termConn) open(t *terms, address raft.ServerAddress) {
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
	var answer [termAnswer]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	number, term := binary.BigEndian.Uint64(answer[:]), binary.BigEndian.Uint64(answer[termQuestion:])
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting := c.asked[number]; waiting != nil {
		waiting <- term
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

func (c *termConn) ask(ctx context.Context) (uint64, error) {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	number, answer, err := c.question()
	if err != nil {
		return 0, err
	}
	timeout := time.NewTimer(termTimeout)
	defer timeout.Stop()
	select {
	case term, ok := <-answer:
		if !ok {
			return 0, fmt.Errorf("%w: the connection broke", ErrMemberUnreachable)
		}
		return term, nil
	case <-timeout.C:
		c.fail(ErrMemberUnreachable)
		return 0, ErrMemberUnreachable
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.asked, number)
		c.mu.Unlock()
		return 0, ctx.Err()
	}
}

// question sends a question. It returns the question's number and the channel that receives the answer.
func (c *termConn) question() (number uint64, answer chan uint64, err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return 0, nil, c.err
	}
	c.number++
	number, answer = c.number, make(chan uint64, 1)
	c.asked[number] = answer
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
	return number, answer, nil
}

// answerTerms answers questions on a connection until the connection fails or this node has no term yet. Without an answer, no
// caller concludes that this node has seen no later term.
func answerTerms(conn net.Conn, current func() (term uint64, ok bool)) {
	var answer [termAnswer]byte
	for {
		if _, err := io.ReadFull(conn, answer[:termQuestion]); err != nil {
			return
		}
		term, ok := current()
		if !ok {
			return
		}
		binary.BigEndian.PutUint64(answer[termQuestion:], term)
		if err := conn.SetWriteDeadline(time.Now().Add(termTimeout)); err != nil {
			return
		}
		if _, err := conn.Write(answer[:]); err != nil {
			return
		}
	}
}
