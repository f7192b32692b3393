package redis

import (
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// redisVersion is the version of Redis whose answers these are. Some client
// libraries ask for it to know what they may use.
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

// auth answers as a server without a password: the default user needs none, and
// there is no other user.
func (c *conn) auth(args [][]byte) {
	switch {
	case len(args) > 3:
		c.refuse("ERR syntax error")
	case len(args) == 2:
		c.refuse("ERR AUTH <password> called without any password configured for the default user. " +
			"Are you sure your configuration is correct?")
	case string(args[1]) != "default":
		c.refuse(wrongPassword)
	default:
		c.ok()
	}
}

const wrongPassword = "WRONGPASS invalid username-password pair or user is disabled."

// hello answers as a server that speaks RESP2 only, which client libraries that
// prefer RESP3 then do as well.
func (c *conn) hello(args [][]byte) {
	name, named := "", false
	if len(args) > 1 {
		version, ok := parseInt(args[1])
		if !ok {
			c.refuse("ERR Protocol version is not an integer or out of range")
			return
		}
		if version != 2 {
			c.say("NOPROTO unsupported protocol version") // which most libraries ask for first
			return
		}
		for rest := args[2:]; len(rest) > 0; {
			switch option := strings.ToLower(string(rest[0])); {
			case option == "auth" && len(rest) >= 3:
				if string(rest[1]) != "default" {
					c.refuse(wrongPassword)
					return
				}
				rest = rest[3:]
			case option == "setname" && len(rest) >= 2:
				if !nameFits(rest[1]) {
					c.refuse(badName)
					return
				}
				name, named = string(rest[1]), true
				rest = rest[2:]
			default:
				c.refuse("ERR Syntax error in HELLO option '" + clip(rest[0], 128) + "'")
				return
			}
		}
	}
	if named {
		c.name = name
	}
	c.out = redcon.AppendArray(c.out, 14)
	for _, pair := range [][2]string{{"server", "redis"}, {"version", redisVersion}} {
		c.out = redcon.AppendBulkString(c.out, pair[0])
		c.out = redcon.AppendBulkString(c.out, pair[1])
	}
	c.out = redcon.AppendBulkString(c.out, "proto")
	c.out = redcon.AppendInt(c.out, 2)
	c.out = redcon.AppendBulkString(c.out, "id")
	c.out = redcon.AppendInt(c.out, c.id)
	// Every member takes INCR, which is what clients want to know by the role.
	for _, pair := range [][2]string{{"mode", "standalone"}, {"role", "master"}} {
		c.out = redcon.AppendBulkString(c.out, pair[0])
		c.out = redcon.AppendBulkString(c.out, pair[1])
	}
	c.out = redcon.AppendBulkString(c.out, "modules")
	c.out = redcon.AppendArray(c.out, 0)
}

// selectDB knows the one database that there is.
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
	c.name = ""
	c.out = redcon.AppendString(c.out, "RESET")
}

const (
	badName      = "ERR Client names cannot contain spaces, newlines or special characters."
	maxNameBytes = 256
)

func nameFits(name []byte) bool {
	for _, b := range name {
		if b < '!' || b > '~' {
			return false
		}
	}
	return len(name) <= maxNameBytes
}

// describeClient is the line of CLIENT INFO, with the fields of Redis 7.0, as
// client libraries look for each. What is not counted here is 0.
func (c *conn) describeClient(sub string) string {
	return "id=" + strconv.FormatInt(c.id, 10) + " addr=" + c.net.RemoteAddr().String() + " laddr=" + c.net.LocalAddr().String() +
		" fd=0 name=" + c.name + " age=0 idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0" +
		" rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=client|" + sub + " user=default redir=-1 resp=2\n"
}

// client answers what client libraries and people ask of CLIENT.
func (c *conn) client(args [][]byte) {
	sub := subcommand(args)
	if sub == "help" {
		c.help("client", args)
		return
	}
	words, known := map[string]int{
		"setname": 3, "getname": 2, "setinfo": 4, "id": 2, "info": 2, "list": -2, "no-evict": 3, "no-touch": 3, "reply": 3,
	}[sub]
	switch {
	case !known:
		c.badSubcommand(args)
		return
	case !arityFits(words, len(args)):
		c.badArity("client", sub)
		return
	}
	switch sub {
	case "setname":
		if !nameFits(args[2]) {
			c.refuse(badName)
			return
		}
		c.name = string(args[2])
		c.ok()
	case "getname":
		if c.name == "" {
			c.out = redcon.AppendNull(c.out)
			return
		}
		c.out = redcon.AppendBulkString(c.out, c.name)
	case "id":
		c.out = redcon.AppendInt(c.out, c.id)
	case "info", "list":
		c.out = redcon.AppendBulkString(c.out, c.describeClient(sub))
	case "setinfo":
		c.ok() // the library's name and version, which nothing here needs
	default:
		switch on := strings.ToLower(string(args[2])); {
		case on == "on", on == "off" && sub != "reply":
			c.ok()
		case sub == "reply" && (on == "off" || on == "skip"):
			c.refuse("ERR CLIENT REPLY " + strings.ToUpper(on) + " is not served: numbers that nobody reads are lost")
		default:
			c.refuse("ERR syntax error")
		}
	}
}
