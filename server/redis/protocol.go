package redis

import (
	"strconv"

	"github.com/tidwall/redcon"
)

// Versions of the protocol. A connection begins with RESP2, and HELLO and RESET change its version.
const (
	resp2 = 2
	resp3 = 3
)

// aggregate begins an answer with a number of elements. RESP2 has arrays only.
func (c *conn) aggregate(kind byte, elements int) {
	if c.protocol != resp3 {
		kind = '*'
	}
	c.out = append(c.out, kind)
	c.out = strconv.AppendInt(c.out, int64(elements), 10)
	c.out = append(c.out, "\r\n"...)
}

// object begins an answer of pairs of a key and a value. In RESP2, it is an array of twice as many elements.
func (c *conn) object(pairs int) {
	if c.protocol != resp3 {
		pairs *= 2
	}
	c.aggregate('%', pairs)
}

// unordered answers with strings of which the order means nothing.
func (c *conn) unordered(members []redcon.SimpleString) {
	c.aggregate('~', len(members))
	for _, member := range members {
		c.out = redcon.AppendAny(c.out, member)
	}
}

// null answers that there is no value.
func (c *conn) null() {
	if c.protocol == resp3 {
		c.out = append(c.out, "_\r\n"...)
		return
	}
	c.out = redcon.AppendNull(c.out)
}

// verbatim answers with a text for people.
func (c *conn) verbatim(text string) {
	if c.protocol != resp3 {
		c.out = redcon.AppendBulkString(c.out, text)
		return
	}
	const kind = "txt:"
	c.out = append(c.out, '=')
	c.out = strconv.AppendInt(c.out, int64(len(kind)+len(text)), 10)
	c.out = append(c.out, "\r\n"+kind...)
	c.out = append(c.out, text...)
	c.out = append(c.out, "\r\n"...)
}
