package redis

import (
	"context"
	"math"
	"strconv"

	"github.com/tidwall/redcon"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
)

// Limits of one shared call.
const (
	maxPending = 4096 // commands
	maxGroups  = 32   // keys, few enough for a linear search
)

// pending holds consecutive INCRs and INCRBYs of a pipeline. One call serves all commands of a key.
type pending struct {
	incrs  []pendingIncr
	groups []group
}

type pendingIncr struct {
	cmd   *command
	group int
	count uint64
}

// group holds the commands of one key.
type group struct {
	key      string
	count    uint64 // numbers
	commands int
	asked    bool // the Backend returned the following fields
	Numbers
	err error
	// tooMany is the smallest count that the exhausted sequence could not serve; 0 if no count was requested separately.
	tooMany uint64
	last    *int64 // last number of an exhausted sequence; nil if not requested yet
}

// join adds an INCR or INCRBY to the pending commands, unless it must be refused or the limits of a call are reached.
func (c *conn) join(cmd *command, args [][]byte) bool {
	if !arityFits(cmd.arity, len(args)) {
		return false
	}
	name, count, refusal := c.wanted(args)
	return refusal == "" && c.pending.add(cmd, name, count)
}

// incr serves a command that could not join.
func (c *conn) incr(args [][]byte) {
	name, count, refusal := c.wanted(args)
	if refusal != "" {
		c.refuse(refusal)
		return
	}
	c.pending.add(lookup(args[0]), name, count) // within the limits, because no command is pending
}

// wanted returns the name and the count that an INCR or INCRBY requests, or the text of the refusal.
func (c *conn) wanted(args [][]byte) (name string, count uint64, refusal string) {
	count = 1
	if len(args) > 2 {
		n, ok := parseInt(args[2])
		switch {
		case !ok:
			return "", 0, "ERR value is not an integer or out of range"
		case n < 1:
			return "", 0, "ERR INCRBY takes at least 1 number, and " + strconv.FormatInt(n, 10) +
				" is less. For numbers that decrease: snowraft seq create NAME --increment -1, then INCR"
		case n > limits.Count:
			return "", 0, "ERR INCRBY takes at most 1000000 numbers at once, and " + strconv.FormatInt(n, 10) +
				" are more: send several commands, or move the sequence with: snowraft seq set NAME VALUE"
		}
		count = uint64(n)
	}
	name, err := c.keys.get(args[1])
	if err != nil {
		return "", 0, "ERR " + err.Error()
	}
	return name, count, ""
}

// add adds a command to the pending commands unless the limits of a call are reached. It reports whether it did.
func (p *pending) add(cmd *command, name string, count uint64) bool {
	at := p.find(name)
	if len(p.incrs) == maxPending || at < 0 && len(p.groups) == maxGroups || at >= 0 && p.groups[at].count+count > limits.Texts {
		return false
	}
	if at < 0 {
		at = len(p.groups)
		p.groups = append(p.groups, group{key: name})
	}
	p.groups[at].count += count
	p.groups[at].commands++
	p.incrs = append(p.incrs, pendingIncr{cmd: cmd, group: at, count: count})
	return true
}

func (p *pending) find(name string) int {
	for i := range p.groups {
		if p.groups[i].key == name {
			return i
		}
	}
	return -1
}

// tryPending answers the pending commands if TryNext has all their numbers. It reports whether it did.
func (c *conn) tryPending() bool {
	for i := range c.pending.groups {
		if !c.tryGroup(&c.pending.groups[i]) {
			return false
		}
	}
	c.answerPending()
	return true
}

func (c *conn) tryGroup(g *group) bool {
	if g.key != c.strict { // only the leader has its numbers
		g.Numbers, g.asked = c.s.cfg.Backend.TryNext(c.context(), g.key, g.count)
	}
	return g.asked
}

// servePending answers the pending commands and waits for the Backend if necessary.
func (c *conn) servePending() {
	for i := range c.pending.groups {
		g := &c.pending.groups[i]
		if g.asked {
			c.noteFailure(g.err)
			continue
		}
		g.err = nil
		if !c.tryGroup(g) {
			g.Numbers, g.err = c.next(g.key, g.count)
		}
	}
	c.answerPending()
}

// answerPending answers the pending commands once the Backend has answered for all of them. It calls the Backend only after
// errors.
func (c *conn) answerPending() {
	p := &c.pending
	for _, incr := range p.incrs {
		g := &p.groups[incr.group]
		n, err := g.Numbers, g.err
		if g.commands > 1 && exhausted(err) && (g.tooMany == 0 || incr.count < g.tooMany) {
			// The remaining numbers may be enough for some of the commands.
			if n, err = c.next(g.key, incr.count); exhausted(err) {
				g.tooMany = incr.count
			}
		}
		c.count(incr.cmd, err)
		if err != nil {
			c.out = redcon.AppendError(c.out, c.incrError(g, incr.count, err))
			continue
		}
		// Both ends were issued, so intermediate overflows cancel out.
		steps := int64(incr.count) //nolint:gosec // at most limits.Count
		c.out = redcon.AppendInt(c.out, n.First+(steps-1)*n.Increment)
		g.Numbers = n.Part(incr.count, 0)
	}
	for _, g := range p.groups {
		if g.Strict {
			c.strict = g.key
		} else if g.key == c.strict && g.err == nil {
			c.strict = ""
		}
	}
	clear(p.groups)
	p.groups, p.incrs = p.groups[:0], p.incrs[:0]
}

func exhausted(err error) bool {
	return err != nil && rpc.FromError(err).Reason == rpc.SequenceExhausted
}

// next issues numbers.
func (c *conn) next(key string, count uint64) (n Numbers, err error) {
	err = c.take(key, func(ctx context.Context, b Backend) (err error) {
		n, err = b.Next(ctx, key, count)
		return err
	})
	return n, err
}

// take calls issue. If the sequence does not exist, it creates it, if the cluster lets INCR do that, and calls issue again.
func (c *conn) take(key string, issue func(context.Context, Backend) error) error {
	return c.call(func(ctx context.Context, b Backend) error {
		err := issue(ctx, b)
		if err == nil || rpc.FromError(err).Reason != rpc.UnknownSequence {
			return err
		}
		created, failed := b.Create(ctx, key)
		switch {
		case failed != nil:
			return failed
		case !created:
			return err
		}
		return issue(ctx, b)
	})
}

// incrError returns the text of a failed INCR or INCRBY. It reports the end of int64 with Redis's text. The Backend's error text
// explains how to create a missing sequence.
func (c *conn) incrError(g *group, count uint64, err error) string {
	if !exhausted(err) {
		return c.errorText(err)
	}
	if g.last == nil {
		g.last = new(int64)
		_ = c.call(func(ctx context.Context, b Backend) error {
			last, _, err := b.Last(ctx, g.key) // 0 without one
			*g.last = last
			return err
		})
	}
	if *g.last > math.MaxInt64-int64(count) { //nolint:gosec // at most limits.Count
		return "ERR increment or decrement would overflow"
	}
	return c.errorText(err)
}

func (c *conn) get(args [][]byte) {
	key, err := c.keys.get(args[1])
	if err != nil {
		c.refuse("ERR " + err.Error())
		return
	}
	var last int64
	var ok bool
	err = c.call(func(ctx context.Context, b Backend) (err error) {
		last, ok, err = b.Last(ctx, key)
		return err
	})
	switch {
	case err != nil && rpc.FromError(err).Reason != rpc.UnknownSequence:
		c.fail(err)
	case err != nil || !ok:
		c.null()
	default:
		c.out = redcon.AppendBulkInt(c.out, last)
	}
}

func (c *conn) exists(args [][]byte) {
	count := 0
	for _, arg := range args[1:] {
		key, err := c.keys.get(arg)
		if err != nil {
			continue // no sequence can have this name
		}
		var ok bool
		err = c.call(func(ctx context.Context, b Backend) (err error) {
			ok, err = b.Exists(ctx, key)
			return err
		})
		if err != nil {
			c.fail(err)
			return
		}
		if ok {
			count++
		}
	}
	c.out = redcon.AppendInt(c.out, int64(count))
}
