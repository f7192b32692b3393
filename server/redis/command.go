package redis

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/tidwall/redcon"
)

// command is a command that the server implements.
type command struct {
	// arity has the meaning of the arity in COMMAND: the number of words, including the command's name. A negative arity
	// means at least that many words.
	arity    int
	waits    bool // answered at the end of the pipeline, independently of earlier answers
	judged   bool // the Backend checks the caller's right
	unqueued bool // served at once in a transaction
	serve    func(c *conn, args [][]byte)
	key      [3]redcon.SimpleInt // positions of the first and last key among the words, and the step
	flags    []redcon.SimpleString
	summary  string
	name     string // name of its meter; in the table, the command's name
	index    int    // index of its meter
}

const maxName = 32

// lookup finds a command; nil if the server does not implement it.
func lookup(name []byte) *command {
	var scratch [maxName]byte
	if len(name) > maxName {
		return nil
	}
	for i, b := range name {
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		scratch[i] = b
	}
	return commands[string(scratch[:len(name)])]
}

// command serves one command while none is pending; cmd is the result of lookup.
func (c *conn) command(cmd *command, args [][]byte) {
	c.why = nil
	switch err := c.admits(cmd); {
	case err != nil:
		c.fail(err)
		c.transaction.failed = true
		cmd = cmp.Or(cmd, unserved)
	case cmd == nil:
		cmd = unserved
		c.unknown(args)
	case !arityFits(cmd.arity, len(args)):
		c.refuseArity(args)
	default:
		cmd.serve(c, args)
	}
	if len(c.pending.incrs) == 0 { // a pending command is counted with its answer
		c.count(cmd, c.why)
	}
}

func arityFits(arity, words int) bool {
	return words == arity || (arity < 0 && words >= -arity)
}

func (c *conn) refuseArity(args [][]byte) {
	c.refuse("ERR wrong number of arguments for '" + string(bytes.ToLower(args[0])) + "' command")
}

func (c *conn) unknown(args [][]byte) {
	name := strings.ToLower(string(args[0]))
	if name == "post" || name == "host:" {
		// A browser was made to send HTTP here. The rest of its request must not be served.
		if c.s.strange.Allow() {
			c.s.cfg.Logger.Warn("client of the Redis port speaks HTTP; closing the connection", "client", c.net.RemoteAddr())
		}
		c.why, c.closing = errClient, true
		return
	}
	if advice, ok := refusals[name]; ok {
		if advice != noCluster {
			advice = strings.ToUpper(name) + " is not served: " + advice
		}
		c.refuse("ERR " + advice)
		return
	}
	const most = 128
	var b strings.Builder
	for _, arg := range args[1:] {
		if b.Len() >= most {
			break
		}
		b.WriteString("'" + clip(arg, most-b.Len()) + "' ")
	}
	c.refuse("ERR unknown command '" + clip(args[0], most) + "', with args beginning with: " + b.String())
}

func clip(b []byte, n int) string { return string(b[:min(len(b), n)]) }

func (c *conn) ok() { c.out = redcon.AppendOK(c.out) }
