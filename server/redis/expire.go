package redis

import (
	"strings"

	"github.com/tidwall/redcon"
)

// expire serves EXPIRE and its relatives, whose times have a unit in milliseconds and begin now or, if absolute, in 1970. A
// sequence does not expire, so an answer of 1 changes nothing. It calls no Backend, because an error would lose the number of
// the INCR that precedes it.
func expire(unit int64, absolute bool) func(c *conn, args [][]byte) {
	return func(c *conn, args [][]byte) {
		if _, err := c.keys.get(args[1]); err != nil {
			c.refuse("ERR " + err.Error())
			return
		}
		until, ok := parseInt(args[2])
		if !ok {
			c.refuse("ERR value is not an integer or out of range")
			return
		}
		now := int64(0)
		if absolute {
			now = c.s.cfg.Clock().Wall / unit
		}
		if until <= now {
			c.refuse("ERR a time that has passed deletes a key in Redis, and here nothing; to delete a sequence: snowraft seq delete NAME")
			return
		}
		answer := int64(1)
		for _, option := range args[3:] {
			switch strings.ToUpper(string(option)) {
			case "NX", "LT":
			case "XX", "GT": // only of a key that expires
				answer = 0
			default:
				c.refuse("ERR Unsupported option " + clip(option, 128))
				return
			}
		}
		c.out = redcon.AppendInt(c.out, answer)
	}
}
