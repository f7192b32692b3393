package redis

import (
	"strings"

	"github.com/tidwall/redcon"
)

// redisVersion is the version of Redis whose answers this package imitates. Some client libraries derive their features from
// it.
const redisVersion = "7.0.15"

func (c *conn) ping(args [][]byte) {
	switch len(args) {
	case 1:
		c.out = append(c.out, "+PONG\r\n"...)
	case 2:
		c.out = redcon.AppendBulk(c.out, args[1])
	default:
		c.refuse("ERR wrong number of arguments for 'ping' command")
	}
}

func (c *conn) echo(args [][]byte) { c.out = redcon.AppendBulk(c.out, args[1]) }

// auth answers AUTH token and AUTH user token. The user is ignored.
func (c *conn) auth(args [][]byte) {
	switch {
	case len(args) > 3:
		c.refuse("ERR syntax error")
	case c.login(string(args[len(args)-1])):
		c.ok()
	}
}

const wrongPassword = "WRONGPASS invalid username-password pair or user is disabled."

// hello answers HELLO [version [AUTH user token] [SETNAME name]]. After an error, the connection keeps its version and name.
func (c *conn) hello(args [][]byte) {
	protocol, name := c.protocol, c.name
	if len(args) > 1 {
		version, ok := parseInt(args[1])
		if !ok {
			c.refuse("ERR Protocol version is not an integer or out of range")
			return
		}
		if version != resp2 && version != resp3 {
			c.refuse("NOPROTO unsupported protocol version")
			return
		}
		protocol = int(version)
		for rest := args[2:]; len(rest) > 0; {
			switch option := strings.ToLower(string(rest[0])); {
			case option == "auth" && len(rest) >= 3:
				if !c.login(string(rest[2])) {
					return
				}
				rest = rest[3:]
			case option == "setname" && len(rest) >= 2:
				if !nameFits(rest[1]) {
					c.refuse(badName)
					return
				}
				name = string(rest[1])
				rest = rest[2:]
			default:
				c.refuse("ERR Syntax error in HELLO option '" + clip(rest[0], 128) + "'")
				return
			}
		}
	}
	c.protocol, c.name = protocol, name
	// Every member accepts INCR, and clients read that from the role.
	answer := []any{
		"server", "redis", "version", redisVersion, "proto", redcon.SimpleInt(protocol), "id", redcon.SimpleInt(c.id),
		"mode", "standalone", "role", "master", "modules", []any{},
	}
	c.object(len(answer) / 2)
	for _, part := range answer {
		c.out = redcon.AppendAny(c.out, part)
	}
}

// selectDB accepts only database 0.
func (c *conn) selectDB(args [][]byte) {
	switch n, ok := parseInt(args[1]); {
	case !ok:
		c.refuse("ERR value is not an integer or out of range")
	case n != 0:
		c.refuse("ERR DB index is out of range")
	default:
		c.ok()
	}
}

func (c *conn) quit([][]byte) {
	c.ok()
	c.closing = true
}

func (c *conn) reset([][]byte) {
	c.name, c.protocol = "", resp2
	c.endTransaction()
	c.logout()
	c.out = redcon.AppendString(c.out, "RESET")
}
