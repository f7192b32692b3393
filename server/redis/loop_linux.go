package redis

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/share"
)

// Owners of a connection. Only the owner uses the connection.
const (
	here    = iota // goroutine of its loop
	away           // another goroutine, which may return the connection silently
	awaited        // another goroutine, which must return the connection with give
)

// place is the part of a connection that a loop needs.
type place struct {
	loop    *loop // nil if the connection has its own goroutine
	sock    *socket
	turns   atomic.Int32 // here, away or awaited
	muted   bool         // not in the epoll set; used only by the loop
	waiting bool         // waits for a shared call; used only by the loop
	ended   bool         // must be closed; used only by the owner
}

// loop waits for input on connections and serves them. Its goroutine owns the epoll set, the list of connections with their
// file descriptors, and every connection that is here. It never waits for a client or the Backend. It hands a connection that
// must wait to another goroutine.
type loop struct {
	s       *Server
	epoll   int
	wakeup  int // an eventfd
	conns   map[int32]*conn
	joint   joint
	gathers gathering
	rounds  int       // rounds of events since the last departure
	woke    time.Time // time at which the present events came

	waking  atomic.Bool // the loop has been woken and has not looked yet
	closing atomic.Bool // no further input is read
	stopped atomic.Bool

	mu      sync.Mutex
	given   []*conn
	granted []*grant

	open  sync.RWMutex // held while wakeup is written to
	ended bool         // wakeup may be another connection's file descriptor
}

const (
	maxEvents = 128 // events of one round
	maxRounds = 16  // rounds until the waiting connections depart even if there is more to do
	maxLooks  = 100 // looks for events while a call is in progress, about 30 µs, before the loop sleeps
)

func newLoop(s *Server) (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wakeup, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(err, unix.Close(epoll))
	}
	l := &loop{s: s, epoll: epoll, wakeup: wakeup, conns: make(map[int32]*conn)}
	l.joint.Lines = share.NewLines[*conn](limits.Count)
	if err := l.listen(wakeup); err != nil {
		return nil, errors.Join(err, unix.Close(epoll), unix.Close(wakeup))
	}
	return l, nil
}

func (l *loop) listen(fd int) error {
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}) //nolint:gosec // the system's own numbers
}

func (l *loop) mute(c *conn) {
	if !c.muted {
		c.muted = true
		_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, c.sock.fd, nil)
	}
}

// wake makes the loop look at its input. The loop may have taken the input and ended before wake is called.
func (l *loop) wake() {
	if l.waking.Swap(true) {
		return
	}
	l.open.RLock()
	defer l.open.RUnlock()
	if !l.ended {
		_, _ = unix.Write(l.wakeup, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

func (l *loop) close() {
	l.open.Lock()
	defer l.open.Unlock()
	l.ended = true
	_, _ = unix.Close(l.epoll), unix.Close(l.wakeup)
}

func (l *loop) run() {
	defer l.close()
	events := make([]unix.EpollEvent, maxEvents)
	for !l.stopped.Load() {
		for _, e := range events[:l.wait(events)] {
			if int(e.Fd) == l.wakeup {
				l.awoken()
			} else if c := l.conns[e.Fd]; c != nil {
				l.ready(c)
			}
		}
	}
}

// wait returns the next events. Before it sleeps, and after maxRounds rounds under constant load, it starts the calls for the
// waiting connections; see gathering. It then yields to the goroutines that this goroutine made ready, because another thread
// may take long to find them. While a call is in progress, it polls a few more times: the answer often comes sooner than a
// sleeping thread wakes up.
func (l *loop) wait(events []unix.EpollEvent) int {
	for looked := 0; ; looked++ {
		timeout := 0
		if looked > maxLooks || looked > 0 && l.joint.Len() == 0 {
			timeout = -1
		}
		n, err := unix.EpollWait(l.epoll, events, timeout)
		if n <= 0 && l.gathers.longer(l.joint.boarding()) {
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // to clients on this machine
			continue
		}
		if l.rounds++; n <= 0 || l.rounds >= maxRounds {
			l.rounds = 0
			l.depart()
			runtime.Gosched()
		}
		if n > 0 {
			l.woke = time.Now()
			return n
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			panic(err) // broken epoll set; the loop cannot work without it
		}
	}
}

func (l *loop) awoken() {
	var count [8]byte
	_, _ = unix.Read(l.wakeup, count[:])
	l.waking.Store(false)
	l.mu.Lock()
	given, granted := l.given, l.granted
	l.given, l.granted = nil, nil
	l.mu.Unlock()
	for _, g := range granted {
		l.answer(g)
	}
	for _, c := range given {
		l.takeBack(c)
	}
	if !l.closing.Load() {
		return
	}
	for _, c := range l.conns {
		if !c.waiting && l.hasOrAwaits(c) {
			l.end(c)
		}
	}
}

// hasOrAwaits reports whether a connection is here. A connection that is away will be returned with give.
func (l *loop) hasOrAwaits(c *conn) bool {
	return !c.turns.CompareAndSwap(away, awaited) && c.turns.Load() == here
}

// give hands a connection to the loop.
func (l *loop) give(c *conn) {
	l.mu.Lock()
	l.given = append(l.given, c)
	l.mu.Unlock()
	l.wake()
}

// comeBack returns a connection that is away. The serving goroutine calls it when it is done. It wakes the loop if there is
// more to do or if the loop awaits the connection.
func (c *conn) comeBack(more bool) {
	if more || !c.turns.CompareAndSwap(away, here) {
		c.loop.give(c)
	}
}

func (l *loop) takeBack(c *conn) {
	c.turns.Store(here)
	l.conns[c.sock.id()] = c
	if c.ended {
		l.end(c)
		return
	}
	l.goOn(c)
}

// goOn serves the remaining input of a connection that is here again, and listens for more.
func (l *loop) goOn(c *conn) {
	if c.muted {
		c.muted = false
		if l.listen(c.sock.fd) != nil {
			l.end(c)
			return
		}
	}
	switch {
	case c.w.blocked():
		l.giveAway(c)
	case c.have > 0:
		l.serve(c)
	default:
		c.waitForClient()
	}
}

// giveAway lets another goroutine serve a connection.
func (l *loop) giveAway(c *conn) {
	c.turns.Store(away)
	if c.muted {
		c.turns.Store(awaited)
	}
	go c.serveAway()
}

// ready reads the available input of a connection and serves it.
func (l *loop) ready(c *conn) {
	if c.waiting || !l.hasOrAwaits(c) {
		l.mute(c) // otherwise epoll would report the same input repeatedly
		return
	}
	n, err := unix.Read(c.sock.fd, c.space())
	switch {
	case n > 0:
		c.have += n
		c.began = l.woke
		l.serve(c)
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
	default: // the client is gone
		l.end(c)
	}
}

// serve answers the received commands of a connection, or hands the connection on.
func (l *loop) serve(c *conn) {
	c.wait(waitsForBackend)
	left, ok := c.tryAnswer()
	switch {
	case !ok:
		l.end(c)
	case left == numbersOfOne:
		c.waiting = true
		l.joint.add(c)
	case left == other || c.w.blocked():
		l.giveAway(c)
	case c.closing:
		l.end(c)
	default:
		c.waitForClient()
	}
}

// tryAnswer answers the commands that need no waiting. ok is false if the client is gone.
func (c *conn) tryAnswer() (left int, ok bool) {
	defer c.survive()
	left, err := c.answer(false)
	if err == nil && left != numbersOfOne {
		err = c.flush()
	}
	return left, err == nil
}

// serveAway serves commands that a loop cannot serve. It returns the connection once nothing keeps it waiting or the
// connection has ended.
func (c *conn) serveAway() {
	c.ended = true
	defer func() { c.comeBack(c.ended) }()
	defer c.survive()
	err := c.turn()
	if err == nil && !c.closing {
		if !c.w.blocked() {
			c.ended = false
			c.waitForClient()
			return
		}
		err = c.read()
	}
	c.end(err)
}

// end closes a connection that is here.
func (l *loop) end(c *conn) {
	l.mute(c)
	delete(l.conns, c.sock.id())
	l.s.forget(c) // before another connection gets its file descriptor
	c.sock.release()
}
