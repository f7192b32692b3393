package redis

import (
	"strings"

	"github.com/tidwall/redcon"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
)

// transaction holds the commands between MULTI and EXEC. EXEC serves them like a pipeline, because each INCR is atomic and
// never undone. A command that cannot be served ends the transaction before it takes any number.
type transaction struct {
	open     bool
	failed   bool // a command was refused
	commands int
	queued   []byte // the commands, in RESP
}

// maxQueued is the largest size of the commands in a transaction, in bytes.
const maxQueued = 256 << 10

// queuing serves the commands of an open transaction.
var queuing *command

// find returns the command that serves the next words; nil if the server does not implement it.
func (c *conn) find(name []byte) *command {
	cmd := lookup(name)
	if c.transaction.open && (cmd == nil || !cmd.unqueued) {
		return queuing
	}
	return cmd
}

func (c *conn) multi([][]byte) {
	if c.transaction.open {
		c.refuse("ERR MULTI calls can not be nested")
		return
	}
	c.transaction = transaction{open: true}
	c.ok()
}

// queue keeps a command until EXEC.
func (c *conn) queue(args [][]byte) {
	t := &c.transaction
	cmd, before := lookup(args[0]), len(t.queued)
	t.queued = redcon.AppendArray(t.queued, len(args))
	for _, arg := range args {
		t.queued = redcon.AppendBulk(t.queued, arg)
	}
	size := len(t.queued) - before
	switch {
	case cmd == nil:
		c.unknown(args)
	case !arityFits(cmd.arity, len(args)):
		c.refuseArity(args)
	case cmd.key[0] == 0:
		c.refuse("ERR " + strings.ToUpper(cmd.name) + " is not served in a transaction, which holds commands about keys")
	case cmd.name == "set" && !isSetNX(args):
		c.refuseSet()
	case size > limits.RequestBytes || before+size > maxQueued:
		c.refuse("ERR a transaction holds at most 256 KiB of commands; send a pipeline without MULTI")
	case !c.slot.TryReserve(int64(size)):
		c.fail(rpc.NewError(rpc.Overloaded, "too many commands are queued in transactions; send a pipeline without MULTI"))
	default:
		t.commands++
		c.out = append(c.out, "+QUEUED\r\n"...)
		return
	}
	t.queued, t.failed = t.queued[:before], true
}

// exec serves the queued commands.
func (c *conn) exec([][]byte) {
	defer c.endTransaction()
	t := &c.transaction
	switch {
	case !t.open:
		c.refuse("ERR EXEC without MULTI")
		return
	case t.failed:
		c.refuse("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	c.out = redcon.AppendArray(c.out, t.commands)
	for rest := t.queued; len(rest) > 0 && !c.closing; {
		args, n, _ := parse(rest, nil)
		rest = rest[n:]
		cmd := lookup(args[0])
		if cmd.waits && c.join(cmd, args) {
			continue
		}
		c.servePending()
		if len(c.out) > maxAnswerBytes {
			c.flushOrClose()
		}
		c.command(cmd, args)
	}
	c.servePending()
	c.why = nil
}

func (c *conn) discard([][]byte) {
	if !c.transaction.open {
		c.refuse("ERR DISCARD without MULTI")
		return
	}
	c.endTransaction()
	c.ok()
}

func (c *conn) endTransaction() {
	c.slot.Charge(-int64(len(c.transaction.queued)))
	c.transaction = transaction{}
}
