package redis

import (
	"context"

	"github.com/tidwall/redcon"
)

// number answers SNOWRAFT.NEXT name [COUNT n]. Each number is an array of three strings: the number, its text and its period.
// It sends a long answer in pieces.
func (c *conn) number(args [][]byte) {
	count, array, refusal := wantedCount(args[2:], "SNOWRAFT.NEXT name [COUNT n]")
	if refusal != "" {
		c.refuse(refusal)
		return
	}
	key, err := c.keys.get(args[1])
	if err != nil {
		c.refuse("ERR " + err.Error())
		return
	}
	var n Numbering
	err = c.take(key, func(ctx context.Context, b Backend) (err error) {
		n, err = b.Number(ctx, key, uint64(count)) //nolint:gosec // at most limits.Texts
		return err
	})
	if err != nil {
		c.fail(err)
		return
	}
	if array {
		c.out = redcon.AppendArray(c.out, count)
	}
	var text []byte
	for i := range count {
		if len(c.out) > maxAnswerBytes {
			if c.flushOrClose(); c.closing {
				return
			}
		}
		text = n.Append(text[:0], uint64(i))
		c.out = redcon.AppendArray(c.out, 3)
		c.out = redcon.AppendBulkInt(c.out, n.First+int64(i)*n.Increment)
		c.out = redcon.AppendBulk(c.out, text)
		c.out = redcon.AppendBulkString(c.out, n.Period)
	}
}
