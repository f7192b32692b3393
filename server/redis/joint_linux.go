package redis

import (
	"errors"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/share"
	"github.com/snowraft/snowraft/trust"
)

// joint holds the connections of a loop that wait for numbers that are not in memory. All pending commands of such a
// connection are of one key. The connections share calls. Calls begin when the loop has nothing else to do, or after much
// other work, so that more load makes more connections share a call. Only the loop's goroutine uses joint.
type joint struct {
	share.Lines[*conn]
	idle []*share.Line[*conn] // lines without a call in progress
}

// grant is the answer to a shared call. The numbers go to the connections in order.
type grant struct {
	line      *share.Line[*conn]
	conns     []share.Seat[*conn]
	first     int64
	increment int64
	err       error
}

func (j *joint) add(c *conn) {
	own := &c.pending.groups[0]
	if line, idle := j.Join(share.Key{Sequence: own.key, Principal: c.caller}, own.count, c); idle {
		j.idle = append(j.idle, line)
	}
}

// boarding returns the number of connections that the next departure serves.
func (j *joint) boarding() (conns int) {
	for _, line := range j.idle {
		conns += line.Waiting()
	}
	return conns
}

// depart starts the calls for the waiting connections.
func (l *loop) depart() {
	l.gathers.departed(l.joint.boarding())
	for _, line := range l.joint.idle {
		if conns, count := l.joint.Board(line); count > 0 {
			go l.call(&grant{line: line, conns: conns}, count)
		}
	}
	l.joint.idle = l.joint.idle[:0]
}

// call requests numbers for the waiting connections while the loop continues. [share.Calls] would block the loop's goroutine,
// so the loop drives the lines and takes the answers in its next turn.
func (l *loop) call(g *grant, count uint64) {
	defer func() {
		if recover() != nil {
			g.err = errPanic // each connection then makes its own call and reports the panic
		}
		l.mu.Lock()
		l.granted = append(l.granted, g)
		l.mu.Unlock()
		l.wake()
	}()
	ctx := *l.s.call.Load()
	if caller, ok := g.line.Key.Principal.(*trust.Principal); ok && caller != nil {
		ctx = trust.WithPrincipal(ctx, caller)
	}
	g.first, g.increment, g.err = l.s.cfg.Backend.Next(ctx, g.line.Key.Sequence, count)
}

func (l *loop) answer(g *grant) {
	l.joint.idle = append(l.joint.idle, g.line)
	next := g.first
	for _, seat := range g.conns {
		c := seat.Caller
		own := &c.pending.groups[0]
		own.next, own.increment, own.err, own.asked = next, g.increment, g.err, !askAgain(g.err)
		next += int64(own.count) * g.increment //nolint:gosec // at most limits.Count; unused after the last connection
		c.waiting = false
		switch {
		case g.err != nil:
			l.giveAway(c)
		case c.answerGranted():
			l.goOn(c)
		default:
			l.end(c)
		}
	}
}

// askAgain reports whether a connection's own call may get another answer than the shared call: the numbers may suffice for
// one connection, it may create the sequence, or another connection caused the error.
func askAgain(err error) bool {
	return exhausted(err) || errors.Is(err, errPanic) || err != nil && rpc.FromError(err).Reason == rpc.UnknownSequence
}

var errPanic = errors.New("backend call panicked")

func (c *conn) answerGranted() (ok bool) {
	defer c.survive()
	c.answerPending()
	return c.flush() == nil
}
