package screen

import (
	"bufio"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/slots"
)

const (
	// progress is the time that a message may take once it has begun.
	progress = 30 * time.Second
	// pace is the additional time that a snapshot may take for each of its pieces. Raft's sender gives up no later.
	pace  = 5 * time.Second
	piece = 256 << 10 // bytes
)

// Large holds the slots for large messages that a node receives at the same time. A message keeps its slot until its reader
// requests the next message, or the connection is closed.
type Large struct {
	all  chan struct{}
	from *slots.Budget
}

const (
	maxLarge     = 8
	maxLargeFrom = 4 // slots of one address
)

// NewLarge returns 8 slots. Each address can take at most 4 of them.
func NewLarge() *Large {
	return &Large{all: make(chan struct{}, maxLarge), from: slots.New(math.MaxInt, maxLargeFrom)}
}

// Taken returns the number of slots that are taken.
func (l *Large) Taken() int { return len(l.all) }

// take waits for a slot. It fails at once if the address already has maxLargeFrom slots, and after progress otherwise.
func (l *Large) take(addr net.Addr) (release func(), err error) {
	slot, ok := l.from.Take(addr, nil)
	if !ok {
		return nil, refuse("more than %d large messages at a time from one address", maxLargeFrom)
	}
	timeout := time.NewTimer(progress)
	defer timeout.Stop()
	select {
	case l.all <- struct{}{}:
		return sync.OnceFunc(func() {
			<-l.all
			slot.Release()
		}), nil
	case <-timeout.C:
		slot.Release()
		return nil, os.ErrDeadlineExceeded
	}
}

// conn is a Raft connection from which only messages of the right form can be read.
type conn struct {
	net.Conn
	from  *bufio.Reader
	next  func(*scanner) (follow int64, err error)
	limit int
	large *Large                 // nil for answers, whose reader itself sets deadlines
	held  atomic.Pointer[func()] // releases the slot among the large messages

	scan   scanner
	ready  []byte // bytes of a checked message that were not read yet
	follow int64  // bytes of a snapshot that were not read yet
}

// RaftRequests returns a connection from which only raft's requests can be read. c is a connection that another node opened.
func RaftRequests(c net.Conn, large *Large) net.Conn {
	return &conn{Conn: c, from: bufio.NewReader(c), next: request, limit: maxRequest, large: large}
}

// RaftAnswers returns a connection from which only raft's answers can be read. c is a connection that this node opened.
func RaftAnswers(c net.Conn) net.Conn {
	return &conn{Conn: c, from: bufio.NewReader(c), next: answer, limit: maxAnswer}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if len(c.ready) == 0 && c.follow == 0 {
		if err := c.take(); err != nil {
			return 0, err
		}
	}
	if len(c.ready) > 0 {
		n := copy(b, c.ready)
		c.ready = c.ready[n:]
		return n, nil
	}
	n, err := c.from.Read(b[:min(int64(len(b)), c.follow)])
	if c.follow -= int64(n); c.follow == 0 && err == nil {
		err = c.rest()
	}
	return n, err
}

// take waits for the beginning of a message, and then reads and checks all of it.
func (c *conn) take() error {
	c.release()
	if cap(c.scan.taken) > small {
		c.scan.taken = nil
	}
	c.scan = scanner{from: c.from, limit: c.limit, taken: c.scan.taken[:0]}
	if c.large != nil {
		c.scan.large = c.hold
	}
	if _, err := c.from.Peek(1); err != nil {
		return err
	}
	if err := c.hurry(0); err != nil {
		return err
	}
	follow, err := c.next(&c.scan)
	if err != nil {
		return err
	}
	c.ready, c.follow = c.scan.taken, follow
	if follow > 0 {
		return c.hurry(follow)
	}
	return c.rest()
}

// hurry sets the deadline of a message, or of the follow bytes of a snapshot behind it.
func (c *conn) hurry(follow int64) error {
	if c.large == nil {
		return nil
	}
	return c.SetReadDeadline(time.Now().Add(progress + time.Duration(follow/piece)*pace))
}

func (c *conn) rest() error {
	if c.large == nil {
		return nil
	}
	return c.SetReadDeadline(time.Time{})
}

// hold takes a slot among the large messages.
func (c *conn) hold() error {
	release, err := c.large.take(c.RemoteAddr())
	if err == nil {
		c.held.Store(&release)
	}
	return err
}

func (c *conn) release() {
	if release := c.held.Swap(nil); release != nil {
		(*release)()
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.release()
	return c.Conn.Close()
}
