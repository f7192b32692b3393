package redis

import (
	"errors"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
)

// joint is the connections of a loop that wait for numbers which are not in memory. The
// loop asks for those of a key with one call after another, each for all who wait when
// nothing else is to be done, or much was: the more there is to do, the more share a
// call. Only the loop's goroutine uses it.
type joint struct {
	byKey map[string]*queue
	fresh []*queue // those that got connections, or an answer, since the last departure
}

// queue is the connections whose pending commands are all of one key.
type queue struct {
	key     string
	waiting []*conn
	calling bool
	fresh   bool
}

// grant is what a call for many connections was answered: their numbers in their order.
type grant struct {
	queue     *queue
	conns     []*conn
	count     uint64
	first     int64
	increment int64
	err       error
}

func (j *joint) add(c *conn) {
	key := c.pending.groups[0].key
	q := j.byKey[key]
	if q == nil {
		q = &queue{key: key}
		j.byKey[key] = q
	}
	q.waiting = append(q.waiting, c)
	j.freshen(q)
}

func (j *joint) freshen(q *queue) {
	if !q.fresh {
		q.fresh = true
		j.fresh = append(j.fresh, q)
	}
}

// depart begins the calls for those who wait.
func (l *loop) depart() {
	for _, q := range l.joint.fresh {
		q.fresh = false
		switch {
		case q.calling:
		case len(q.waiting) == 0:
			delete(l.joint.byKey, q.key)
		default:
			q.calling = true
			g := q.board()
			go l.call(g)
		}
	}
	l.joint.fresh = l.joint.fresh[:0]
}

// board takes as many of those who wait, in order, as one call can serve.
func (q *queue) board() *grant {
	g := &grant{queue: q}
	for len(g.conns) < len(q.waiting) {
		n := q.waiting[len(g.conns)].pending.groups[0].count
		if len(g.conns) > 0 && g.count+n > limits.Count {
			break
		}
		g.conns, g.count = q.waiting[:len(g.conns)+1], g.count+n
	}
	q.waiting = q.waiting[len(g.conns):]
	return g
}

// call asks for what a queue's connections wait for, while the loop goes on.
func (l *loop) call(g *grant) {
	defer func() {
		if recover() != nil {
			g.err = errPanic // each connection asks on its own then, and tells
		}
		l.mu.Lock()
		l.granted = append(l.granted, g)
		l.mu.Unlock()
		l.wake()
	}()
	g.first, g.increment, g.err = l.s.cfg.Backend.Next(l.s.calls.context(), g.queue.key, g.count)
}

// answer answers those who waited.
func (l *loop) answer(g *grant) {
	g.queue.calling = false
	l.joint.freshen(g.queue)
	next := g.first
	for _, c := range g.conns {
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

var errPanic = errors.New("a call of the backend panicked")

func (c *conn) answerGranted() (ok bool) {
	defer c.survive()
	c.answerPending()
	return c.flush() == nil
}
