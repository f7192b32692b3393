package redis

import (
	"errors"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/share"
	"github.com/snowraft/snowraft/trust"
)

// joint is the connections of a loop that wait for numbers which are not in memory, and whose
// pending commands are all of one key. They share calls, which begin when nothing else is to be
// done, or much was: the more there is to do, the more connections share a call. Only the loop's
// goroutine uses it.
type joint struct {
	share.Lines[*conn]
	idle []*share.Line[*conn] // no call is in progress
}

// grant is the answer to a call for many connections: their numbers in their order.
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

// depart begins the calls for those who wait.
func (l *loop) depart() {
	l.gathers.departed(l.joint.boarding())
	for _, line := range l.joint.idle {
		if conns, count := l.joint.Board(line); count > 0 {
			go l.call(&grant{line: line, conns: conns}, count)
		}
	}
	l.joint.idle = l.joint.idle[:0]
}

// call requests what connections wait for, while the loop goes on. [share.Calls] would block the loop's
// goroutine, so the loop drives the lines itself and takes the answers in its next turn.
func (l *loop) call(g *grant, count uint64) {
	defer func() {
		if recover() != nil {
			g.err = errPanic // each connection calls on its own then, and reports
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
		next += int64(own.count) * g.increment //nolint:gosec // at most limits.Count; past the last one's last it is not used
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

// askAgain reports whether a connection alone may be answered otherwise than all were: there
// may be numbers enough for it, or it creates the sequence, or another was to blame.
func askAgain(err error) bool {
	return exhausted(err) || errors.Is(err, errPanic) || err != nil && rpc.FromError(err).Reason == rpc.UnknownSequence
}

var errPanic = errors.New("backend call panicked")

func (c *conn) answerGranted() (ok bool) {
	defer c.survive()
	c.answerPending()
	return c.flush() == nil
}
