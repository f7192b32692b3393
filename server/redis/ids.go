package redis

import (
	"context"
	"strings"

	"github.com/tidwall/redcon"

	"github.com/snowraft/snowraft/internal/limits"
)

const (
	maxKeptIDs = 1024 // capacity that a connection keeps

	idBytes       = 8  // size in memory
	maxIDAnswered = 26 // bytes of an ID in an answer: its length, 19 digits, two line ends
)

// generate answers SNOWRAFT.ID [layout] [COUNT n] with a string or an array of strings. JavaScript would round integers of this
// size.
func (c *conn) generate(args [][]byte) {
	layout, rest := "", args[1:]
	if len(rest)%2 == 1 {
		layout, rest = string(rest[0]), rest[1:]
	}
	count, array, refusal := wantedCount(rest, "SNOWRAFT.ID [layout] [COUNT n]")
	if refusal != "" {
		c.refuse(refusal)
		return
	}
	c.appendIDs(layout, count, array)
}

// wantedCount reads the option COUNT n, or returns the text of the refusal. given is false, and count 1, without the option.
func wantedCount(rest [][]byte, usage string) (count int, given bool, refusal string) {
	if len(rest) == 0 {
		return 1, false, ""
	}
	if len(rest) != 2 || !strings.EqualFold(string(rest[0]), "count") {
		return 0, false, "ERR syntax error, expected " + usage
	}
	n, ok := parseInt(rest[1])
	switch {
	case !ok:
		return 0, false, "ERR value is not an integer or out of range"
	case n < 1 || n > limits.Texts:
		return 0, false, "ERR COUNT is out of range, expected 1 to 100000"
	}
	return int(n), true, ""
}

// appendIDs answers with IDs. It sends a long answer in pieces, so that no connection holds the whole text. If the budget
// permits, it takes all IDs at once, so that the answer is all IDs or an error. Otherwise it takes the IDs piece by piece. An error
// after the first piece can only close the connection.
func (c *conn) appendIDs(layout string, count int, array bool) {
	part := min(count, maxKeptIDs)
	if held := int64(idBytes * count); count > part && c.slot.TryReserve(held) {
		defer c.slot.Charge(-held)
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
		if c.appendStrings(ids); c.closing {
			return
		}
	}
	if count > maxKeptIDs {
		c.flushOrClose()
		c.out = nil // an idle connection would keep it
	}
}

// appendStrings answers with IDs, in pieces of at most maxAnswerBytes. If the client is gone before the end, c.closing is set.
func (c *conn) appendStrings(ids []uint64) {
	for _, id := range ids {
		if len(c.out)+maxIDAnswered > maxAnswerBytes {
			if c.flushOrClose(); c.closing {
				return
			}
		}
		c.out = redcon.AppendBulkInt(c.out, int64(id)) //nolint:gosec // 63 bits
	}
}

func (c *conn) flushOrClose() {
	if c.flush() != nil || c.w.wait() != nil {
		c.closing = true // the client is gone
	}
}
