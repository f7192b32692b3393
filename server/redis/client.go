package redis

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tidwall/redcon"
)

const (
	badName      = "ERR Client names cannot contain spaces, newlines or special characters."
	maxNameBytes = 256
)

func nameFits(name []byte) bool {
	return len(name) <= maxNameBytes && !bytes.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' })
}

func (c *conn) setName(args [][]byte) {
	if !nameFits(args[2]) {
		c.refuse(badName)
		return
	}
	c.name = string(args[2])
	c.ok()
}

func (c *conn) getName([][]byte) {
	if c.name == "" {
		c.null()
		return
	}
	c.out = redcon.AppendBulkString(c.out, c.name)
}

func (c *conn) clientID([][]byte) { c.out = redcon.AppendInt(c.out, c.id) }

// clientInfo answers with all fields of Redis 7.0, because client libraries expect each of them. Fields that are not counted
// here are 0.
func (c *conn) clientInfo(args [][]byte) {
	addr, laddr := c.net.RemoteAddr().String(), c.net.LocalAddr().String()
	if c.net.LocalAddr().Network() == "unix" { // libraries parse the form of Redis
		laddr += ":0"
		addr = laddr
	}
	c.verbatim(fmt.Sprintf("id=%d addr=%s laddr=%s fd=0 name=%s"+
		" age=0 idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0"+
		" rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=client|%s user=default redir=-1 resp=%d\n",
		c.id, addr, laddr, c.name, subcommandName(args), c.protocol))
}

// onOrOff checks the argument of a setting without effect and answers OK.
func (c *conn) onOrOff(args [][]byte) {
	if on := strings.ToLower(string(args[2])); on != "on" && on != "off" {
		c.refuse("ERR syntax error")
		return
	}
	c.ok()
}

// tracking accepts the mode in which a client names the reads that it caches, because client libraries choose it when they
// connect. CLIENT CACHING, which names a read, is not served.
func (c *conn) tracking(args [][]byte) {
	switch strings.ToLower(string(bytes.Join(args[2:], []byte(" ")))) {
	case "off", "on optin":
		c.ok()
	default:
		c.refuse("ERR CLIENT TRACKING is served with ON OPTIN and OFF only: a number that a client caches is out of date")
	}
}

func (c *conn) reply(args [][]byte) {
	switch on := strings.ToUpper(string(args[2])); on {
	case "ON":
		c.ok()
	case "OFF", "SKIP":
		c.refuse("ERR CLIENT REPLY " + on + " is not served: numbers that the client does not read are lost")
	default:
		c.refuse("ERR syntax error")
	}
}
