package redis

import (
	"context"
	"strings"

	"github.com/tidwall/redcon"

	"github.com/snowraft/snowraft/internal/limits"
)

const (
	maxKeptIDs = 1024 // that a connection keeps the room for

	idBytes     = 8  // in memory
	maxIntBytes = 22 // of an ID in an answer: a colon, 19 digits, the end of the line
)

// generate answers SNOWRAFT.ID [layout] [COUNT n]: an integer, as all IDs have 63 bits
// at most, or an array of them.
func (c *conn) generate(args [][]byte) {
	layout, count, array := "", int64(1), false
	rest := args[1:]
	if len(rest)%2 == 1 {
		layout, rest = string(rest[0]), rest[1:]
	}
	if len(rest) > 0 {
		n, ok := parseInt(rest[1])
		switch {
		case len(rest) > 2 || !strings.EqualFold(string(rest[0]), "count"):
			c.refuse("ERR syntax error, expected SNOWRAFT.ID [layout] [COUNT n]")
			return
		case !ok:
			c.refuse("ERR value is not an integer or out of range")
			return
		case n < 1 || n > limits.Texts:
			c.refuse("ERR COUNT is out of range, expected 1 to 100000")
			return
		}
		count, array = n, true
	}
	c.appendIDs(layout, int(count), array)
}

// appendIDs answers with IDs. Long answers are sent in pieces, so that no connection
// holds all of it. The IDs are taken at once, for then the answer is all of them or
// an error; but while others use up the room for that, they are taken as they are
// sent, where an error that comes after the first can only end the connection.
func (c *conn) appendIDs(layout string, count int, array bool) {
	part := min(count, maxKeptIDs)
	if held := idBytes * count; count > part && c.s.room.reserve(held) {
		defer c.s.room.release(held)
		part = count
	}
	for left := count; left > 0; left -= part {
		part = min(part, left)
		if cap(c.ids) < part {
			c.ids = make([]uint64, 0, part)
		}
		ids := c.ids[:0]
		err := c.call(func(ctx context.Context, b Backend) (err error) {
			ids, err = b.Ids(ctx, ids, layout, uint32(part)) //nolint:gosec // at most limits.Texts
			return err
		})
		if c.ids = ids; cap(ids) > maxKeptIDs {
			c.ids = nil
		}
		switch {
		case err != nil && left == count:
			c.fail(err)
			return
		case err != nil:
			c.s.cfg.Logger.Warn("response to SNOWRAFT.ID incomplete; closing the connection",
				"client", c.net.RemoteAddr(), "missing_ids", left, "error", err)
			c.why, c.closing = err, true
			return
		case left == count && array:
			c.out = redcon.AppendArray(c.out, count)
		}
		if c.appendInts(ids); c.closing {
			return
		}
	}
	if count > maxKeptIDs {
		c.flushOrClose()
		c.out = nil // an idle connection would hold it
	}
}

// appendInts answers with integers, in pieces of at most maxAnswerBytes. Their
// client may be gone before the end: see c.closing.
func (c *conn) appendInts(ids []uint64) {
	for _, id := range ids {
		if len(c.out)+maxIntBytes > maxAnswerBytes {
			if c.flushOrClose(); c.closing {
				return
			}
		}
		c.out = redcon.AppendInt(c.out, int64(id)) //nolint:gosec // 63 bits
	}
}

func (c *conn) flushOrClose() {
	if c.flush() != nil || c.w.wait() != nil {
		c.closing = true // the client is gone
	}
}
