package redis

import (
	"context"
	"strings"

	"github.com/tidwall/redcon"
)

// setValue answers SET. Only SET key value NX is served.
func (c *conn) setValue(args [][]byte) {
	if !isSetNX(args) {
		c.refuseSet()
		return
	}
	if set, ok := c.setIfMissing(args); set {
		c.ok()
	} else if ok {
		c.null()
	}
}

func isSetNX(args [][]byte) bool { return len(args) == 4 && strings.EqualFold(string(args[3]), "nx") }

func (c *conn) refuseSet() { c.refuse("ERR SET is not served: " + refusals["set"]) }

// setNX answers SETNX key value.
func (c *conn) setNX(args [][]byte) {
	if set, ok := c.setIfMissing(args); set {
		c.out = redcon.AppendInt(c.out, 1)
	} else if ok {
		c.out = redcon.AppendInt(c.out, 0)
	}
}

// setIfMissing reports whether it set the value of a key. An existing sequence stays as it is. A missing one is created for the
// value 0, if the cluster lets INCR do that: 1 is then its first number, as in Redis. If ok is false, it answered with an error.
func (c *conn) setIfMissing(args [][]byte) (set, ok bool) {
	key, err := c.keys.get(args[1])
	if err != nil {
		c.refuse("ERR " + err.Error())
		return false, false
	}
	looks := 0
	look := func(ctx context.Context, b Backend) error {
		looks++
		_, _, err := b.Last(ctx, key)
		return err
	}
	if string(args[2]) == "0" {
		err = c.take(key, look)
	} else {
		err = c.call(look)
	}
	if err != nil {
		c.fail(err)
		return false, false
	}
	return looks > 1, true
}
