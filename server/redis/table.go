package redis

import (
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/redcon"
)

// commands maps lower-case names to the commands that the server implements.
var commands map[string]*command

// unserved counts all input that no command serves.
var unserved = &command{name: "other"}

// The table refers to functions that read it, so its declaration cannot initialize it.
func init() {
	one, many := [3]redcon.SimpleInt{1, 1, 1}, [3]redcon.SimpleInt{1, -1, 1}
	fast, read, write := []redcon.SimpleString{"fast"}, []redcon.SimpleString{"readonly", "fast"}, []redcon.SimpleString{"write", "fast"}
	commands = map[string]*command{
		"incr": {arity: 2, waits: true, judged: true, serve: (*conn).incr, key: one, flags: write,
			summary: "Take the next number of a sequence"},
		"incrby": {arity: 3, waits: true, judged: true, serve: (*conn).incr, key: one, flags: write,
			summary: "Take the next numbers of a sequence, and return the last one"},
		"get": {arity: 2, judged: true, serve: (*conn).get, key: one, flags: read,
			summary: "The last number of a sequence that was issued"},
		"exists": {arity: -2, judged: true, serve: (*conn).exists, key: many, flags: read,
			summary: "Number of the given keys that are sequences"},
		"set": {arity: -3, serve: (*conn).setValue, key: one, flags: write,
			summary: "Keep an existing sequence: SET key value NX"},
		"setnx": {arity: 3, serve: (*conn).setNX, key: one, flags: write,
			summary: "Keep an existing sequence"},
		"expire":    {arity: -3, serve: expire(1000, false), key: one, flags: fast, summary: "Accept an expiry in seconds, and ignore it"},
		"pexpire":   {arity: -3, serve: expire(1, false), key: one, flags: fast, summary: "Accept an expiry in milliseconds, and ignore it"},
		"expireat":  {arity: -3, serve: expire(1000, true), key: one, flags: fast, summary: "Accept a time of expiry in Unix seconds, and ignore it"},
		"pexpireat": {arity: -3, serve: expire(1, true), key: one, flags: fast, summary: "Accept a time of expiry in Unix milliseconds, and ignore it"},
		"snowraft.id": {arity: -1, judged: true, serve: (*conn).generate, flags: write,
			summary: "IDs of a layout: SNOWRAFT.ID [layout] [COUNT n]"},
		"snowraft.next": {arity: -2, judged: true, serve: (*conn).number, key: one, flags: write,
			summary: "Numbers of a sequence with their texts and periods: " + nextUsage},
		"ping":    {arity: -1, serve: (*conn).ping, flags: fast, summary: "Ping the member"},
		"echo":    {arity: 2, serve: (*conn).echo, flags: fast, summary: "Echo the message"},
		"auth":    {arity: -2, serve: (*conn).auth, flags: fast, summary: "Authenticate with an API token, if the cluster is secured"},
		"hello":   {arity: -1, serve: (*conn).hello, flags: fast, summary: "Choose RESP2 or RESP3, and authenticate"},
		"select":  {arity: 2, serve: (*conn).selectDB, flags: fast, summary: "Select the database, which is 0"},
		"client":  {arity: -2, serve: (*conn).second, summary: "About this connection"},
		"command": {arity: -1, serve: (*conn).describe, summary: "About the commands that are served"},
		"config":  {arity: -2, serve: (*conn).second, flags: []redcon.SimpleString{"admin"}, summary: "Some settings as Redis has them"},
		"info":    {arity: -1, serve: (*conn).info, summary: "About this member"},
		"time":    {arity: 1, serve: (*conn).time, flags: fast, summary: "The member's clock"},
		"multi":   {arity: 1, unqueued: true, serve: (*conn).multi, flags: fast, summary: "Begin a transaction of commands about keys"},
		"exec":    {arity: 1, unqueued: true, serve: (*conn).exec, summary: "Serve the commands of the transaction in order"},
		"discard": {arity: 1, unqueued: true, serve: (*conn).discard, flags: fast, summary: "Forget the commands of the transaction"},
		"reset":   {arity: 1, unqueued: true, serve: (*conn).reset, flags: fast, summary: "Reset the connection"},
		"quit":    {arity: -1, unqueued: true, serve: (*conn).quit, flags: fast, summary: "Close the connection"},
	}
	for name, cmd := range commands {
		unserved.index++
		cmd.name, cmd.index = name, unserved.index-1
	}
	queuing = &command{arity: -1, serve: (*conn).queue, name: "multi", index: commands["multi"].index}
}

func (c *conn) describe(args [][]byte) {
	if len(args) > 1 {
		c.second(args)
		return
	}
	c.commandInfo([][]byte{nil, nil})
}

func (c *conn) commandCount([][]byte) { c.out = redcon.AppendInt(c.out, int64(len(commands))) }

func (c *conn) commandList(args [][]byte) {
	if len(args) > 2 {
		c.refuse("ERR syntax error")
		return
	}
	c.out = redcon.AppendAny(c.out, slices.Sorted(maps.Keys(commands)))
}

// named returns the command names in the arguments of COMMAND INFO and COMMAND DOCS.
func named(args [][]byte) (names []string) {
	if len(args) == 2 {
		return slices.Sorted(maps.Keys(commands))
	}
	for _, arg := range args[2:] {
		names = append(names, strings.ToLower(string(arg)))
	}
	return names
}

func (c *conn) commandDocs(args [][]byte) {
	names := slices.DeleteFunc(named(args), func(name string) bool { return commands[name] == nil })
	c.object(len(names))
	for _, name := range names {
		c.out = redcon.AppendBulkString(c.out, name)
		c.object(1)
		c.out = redcon.AppendBulkString(c.out, "summary")
		c.out = redcon.AppendBulkString(c.out, commands[name].summary)
	}
}

// commandInfo answers like Redis 7, with null for each unknown command.
func (c *conn) commandInfo(args [][]byte) {
	names := named(args)
	c.out = redcon.AppendArray(c.out, len(names))
	for _, name := range names {
		cmd := commands[name]
		if cmd == nil {
			c.null()
			continue
		}
		c.out = redcon.AppendArray(c.out, 10)
		c.out = redcon.AppendBulkString(c.out, name)
		c.out = redcon.AppendInt(c.out, int64(cmd.arity))
		c.unordered(cmd.flags)
		for _, position := range cmd.key {
			c.out = redcon.AppendAny(c.out, position)
		}
		for range 4 { // access categories, tips, key specifications, subcommands
			c.unordered(nil)
		}
	}
}
