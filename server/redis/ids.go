package redis

import (
	"strings"

	"github.com/tidwall/redcon"
)

const (
	maxIDs     = 100_000 // of one command
	maxKeptIDs = 1024    // that a connection keeps the room for
)

// generate answers SNOWRAFT.ID [layout] [COUNT n]: an integer, as all IDs have 63 bits
// at most, or an array of them.
func (c *conn) generate(args [][]byte) {
	layout, count, array := "", int64(1), false
	rest := args[1:]
	if len(rest)%2 == 1 {
		layout, rest = string(rest[0]), rest[1:]
	}
	if len(rest) == 2 {
		if !strings.EqualFold(string(rest[0]), "count") {
			c.refuse("ERR syntax error, expected SNOWRAFT.ID [layout] [COUNT n]")
			return
		}
		n, ok := parseInt(rest[1])
		if !ok {
			c.refuse("ERR value is not an integer or out of range")
			return
		}
		if n < 1 || n > maxIDs {
			c.refuse("ERR COUNT is out of range, expected 1 to 100000")
			return
		}
		count, array = n, true
	} else if len(rest) > 2 {
		c.refuse("ERR syntax error, expected SNOWRAFT.ID [layout] [COUNT n]")
		return
	}
	ids, err := c.s.cfg.Backend.Ids(c.s.calls.context(), c.ids[:0], layout, uint32(count))
	if err != nil {
		c.refuse(errorText(err))
		return
	}
	if array {
		c.out = redcon.AppendArray(c.out, len(ids))
	}
	for _, id := range ids {
		c.out = redcon.AppendInt(c.out, int64(id)) //nolint:gosec // 63 bits
	}
	if c.ids = ids; cap(ids) > maxKeptIDs {
		c.ids = nil
	}
}
