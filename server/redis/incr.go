package redis

import (
	"math"
	"strconv"

	"github.com/tidwall/redcon"

	"github.com/snowraft/snowraft/internal/rpc"
)

// The limits of what is taken together. Only maxCount concerns clients.
const (
	maxCount   = 1_000_000 // numbers of one call
	maxPending = 4096      // commands
	maxGroups  = 32        // keys, few enough to look at each
)

// pending is the INCRs and INCRBYs of a pipeline that follow one another: those
// of a key are served with one call.
type pending struct {
	incrs  []pendingIncr
	groups []group
}

type pendingIncr struct {
	group int
	count uint64
}

// group is the commands of one key.
type group struct {
	key       string
	count     uint64 // of numbers
	commands  int
	next      int64
	increment int64
	err       error
}

func (c *conn) incr(args [][]byte) { c.add(args[1], 1) }

func (c *conn) incrBy(args [][]byte) {
	n, ok := parseInt(args[2])
	switch {
	case !ok:
		c.refuse("ERR value is not an integer or out of range")
	case n < 1:
		c.refuse("ERR a sequence only goes on: INCRBY takes 1 or more numbers, and " + strconv.FormatInt(n, 10) +
			" is not that many. For numbers that decrease: snowraft seq create NAME --increment -1, then INCR")
	case n > maxCount:
		c.refuse("ERR INCRBY takes at most 1000000 numbers at once, and " + strconv.FormatInt(n, 10) +
			" are more: ask several times, or move the sequence with: snowraft seq set NAME VALUE")
	default:
		c.add(args[1], uint64(n))
	}
}

// add puts a command with those that wait for the end of the pipeline.
func (c *conn) add(key []byte, count uint64) {
	name, err := c.keys.get(key)
	if err != nil {
		c.refuse("ERR " + err.Error())
		return
	}
	p := &c.pending
	if len(p.incrs) == maxPending {
		c.servePending()
	}
	at := p.find(name)
	if at < 0 || p.groups[at].count+count > maxCount {
		if at >= 0 || len(p.groups) == maxGroups {
			c.servePending()
		}
		at = len(p.groups)
		p.groups = append(p.groups, group{key: name})
	}
	p.groups[at].count += count
	p.groups[at].commands++
	p.incrs = append(p.incrs, pendingIncr{group: at, count: count})
}

func (p *pending) find(name string) int {
	for i := range p.groups {
		if p.groups[i].key == name {
			return i
		}
	}
	return -1
}

// servePending answers the commands that wait.
func (c *conn) servePending() {
	p := &c.pending
	if len(p.incrs) == 0 {
		return
	}
	for i := range p.groups {
		g := &p.groups[i]
		g.next, g.increment, g.err = c.next(g.key, g.count)
	}
	for _, incr := range p.incrs {
		g := &p.groups[incr.group]
		first, increment, err := g.next, g.increment, g.err
		if err != nil && g.commands > 1 && rpc.FromError(err).Reason == rpc.SequenceExhausted {
			// What is left may be enough for some of them.
			first, increment, err = c.next(g.key, incr.count)
		}
		if err != nil {
			c.out = redcon.AppendError(c.out, c.incrError(g.key, incr.count, err))
			continue
		}
		// Both ends were given out, so what overflows on the way comes back.
		steps := int64(incr.count) //nolint:gosec // at most maxCount
		c.out = redcon.AppendInt(c.out, first+(steps-1)*increment)
		g.next = first + steps*increment
	}
	clear(p.groups)
	p.groups, p.incrs = p.groups[:0], p.incrs[:0]
}

// next gives out numbers, and creates the sequence if that is configured.
func (c *conn) next(key string, count uint64) (first, increment int64, err error) {
	ctx := c.s.calls.context()
	first, increment, err = c.s.cfg.Backend.Next(ctx, key, count)
	if err == nil || c.s.cfg.Create == CreateOff || rpc.FromError(err).Reason != rpc.UnknownSequence {
		return first, increment, err
	}
	if err := c.s.cfg.Backend.Create(ctx, key, c.s.cfg.Create == CreateStrict); err != nil {
		return 0, 0, err
	}
	return c.s.cfg.Backend.Next(ctx, key, count)
}

// incrError tells of the end of int64 as Redis does, and of a sequence that does
// not exist how to create it.
func (c *conn) incrError(key string, count uint64, err error) string {
	switch rpc.FromError(err).Reason {
	case rpc.SequenceExhausted:
		last, ok, lastErr := c.s.cfg.Backend.Last(c.s.calls.context(), key)
		if lastErr == nil && ok && last > math.MaxInt64-int64(count) { //nolint:gosec // at most maxCount
			return "ERR increment or decrement would overflow"
		}
	case rpc.UnknownSequence:
		return errorText(err) + "; create it with: snowraft seq create " + key
	}
	return errorText(err)
}

func (c *conn) get(args [][]byte) {
	key, err := c.keys.get(args[1])
	if err != nil {
		c.refuse("ERR " + err.Error())
		return
	}
	last, ok, err := c.s.cfg.Backend.Last(c.s.calls.context(), key)
	switch {
	case err != nil && rpc.FromError(err).Reason != rpc.UnknownSequence:
		c.refuse(errorText(err))
	case err != nil || !ok:
		c.out = redcon.AppendNull(c.out)
	default:
		c.out = redcon.AppendBulkInt(c.out, last)
	}
}

func (c *conn) exists(args [][]byte) {
	count := 0
	for _, arg := range args[1:] {
		key, err := c.keys.get(arg)
		if err != nil {
			continue // there can be no such sequence
		}
		ok, err := c.s.cfg.Backend.Exists(c.s.calls.context(), key)
		if err != nil {
			c.refuse(errorText(err))
			return
		}
		if ok {
			count++
		}
	}
	c.out = redcon.AppendInt(c.out, int64(count))
}
