package redis

import (
	"context"
	"strings"

	"github.com/tidwall/redcon"
)

const nextUsage = "SNOWRAFT.NEXT name [PERIOD p [FROM n]] [COUNT n]"

// wantedPeriod reads the options PERIOD p and FROM n, or returns the text of the refusal. Other options are in rest.
func wantedPeriod(options [][]byte) (of Period, rest [][]byte, refusal string) {
	for ; len(options) > 1; options = options[2:] {
		switch strings.ToLower(string(options[0])) {
		case "period":
			of.Name = string(options[1])
		case "from":
			n, ok := parseInt(options[1])
			if !ok {
				return of, nil, "ERR value is not an integer or out of range"
			}
			of.From = &n
		default:
			rest = append(rest, options[:2]...)
		}
	}
	return of, append(rest, options...), ""
}

// number answers SNOWRAFT.NEXT. Each number is an array of three strings: the number, its text and its period. It sends a long
// answer in pieces.
func (c *conn) number(args [][]byte) {
	of, rest, refusal := wantedPeriod(args[2:])
	if refusal != "" {
		c.refuse(refusal)
		return
	}
	count, array, refusal := wantedCount(rest, nextUsage)
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
		n, err = b.Number(ctx, key, uint64(count), of) //nolint:gosec // at most limits.Texts
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
