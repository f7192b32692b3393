package redis

import (
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/redcon"
)

// commands are those that are served, by their lower-case names.
var commands map[string]*command

// The table refers to what reads it, so it can't be initialized in its declaration.
func init() {
	one, many := [3]int{1, 1, 1}, [3]int{1, -1, 1}
	commands = map[string]*command{
		"incr": {arity: 2, waits: true, serve: (*conn).incr, key: one, flags: []string{"write", "fast"},
			summary: "Take the next number of a sequence"},
		"incrby": {arity: 3, waits: true, serve: (*conn).incr, key: one, flags: []string{"write", "fast"},
			summary: "Take the next numbers of a sequence, and answer the last of them"},
		"get": {arity: 2, calls: true, serve: (*conn).get, key: one, flags: []string{"readonly", "fast"},
			summary: "The last number of a sequence that was given out"},
		"exists": {arity: -2, calls: true, serve: (*conn).exists, key: many, flags: []string{"readonly", "fast"},
			summary: "How many of these are sequences"},
		"snowraft.id": {arity: -1, calls: true, serve: (*conn).generate, flags: []string{"write", "fast"},
			summary: "IDs of a layout: SNOWRAFT.ID [layout] [COUNT n]"},
		"ping":    {arity: -1, serve: (*conn).ping, flags: []string{"fast"}, summary: "Ping the member"},
		"echo":    {arity: 2, serve: (*conn).echo, flags: []string{"fast"}, summary: "Echo the message"},
		"auth":    {arity: -2, serve: (*conn).auth, flags: []string{"fast"}, summary: "Authenticate; there is no password"},
		"hello":   {arity: -1, serve: (*conn).hello, flags: []string{"fast"}, summary: "Begin a connection, in RESP2"},
		"select":  {arity: 2, serve: (*conn).selectDB, flags: []string{"fast"}, summary: "Select the database, which is 0"},
		"client":  {arity: -2, serve: (*conn).client, summary: "About this connection"},
		"command": {arity: -1, serve: (*conn).describe, summary: "About the commands that are served"},
		"config":  {arity: -2, serve: (*conn).config, flags: []string{"admin"}, summary: "Some settings as Redis has them"},
		"info":    {arity: -1, calls: true, serve: (*conn).info, summary: "About this member"},
		"time":    {arity: 1, serve: (*conn).time, flags: []string{"fast"}, summary: "The member's clock"},
		"reset":   {arity: 1, serve: (*conn).reset, flags: []string{"fast"}, summary: "Reset the connection"},
		"quit":    {arity: -1, serve: (*conn).quit, flags: []string{"fast"}, summary: "Close the connection"},
	}
}

// describe answers COMMAND.
func (c *conn) describe(args [][]byte) {
	names := slices.Sorted(maps.Keys(commands))
	if len(args) == 1 {
		c.describeAll(names)
		return
	}
	var asked []string
	for _, arg := range args[2:] {
		asked = append(asked, strings.ToLower(string(arg)))
	}
	switch sub := subcommand(args); {
	case sub == "count" && len(args) == 2:
		c.out = redcon.AppendInt(c.out, int64(len(names)))
	case sub == "list" && len(args) == 2:
		c.out = redcon.AppendArray(c.out, len(names))
		for _, name := range names {
			c.out = redcon.AppendBulkString(c.out, name)
		}
	case sub == "info":
		if len(asked) > 0 {
			names = asked
		}
		c.describeAll(names)
	case sub == "docs":
		if len(asked) > 0 {
			names = slices.DeleteFunc(asked, func(name string) bool { return commands[name] == nil })
		}
		c.out = redcon.AppendArray(c.out, 2*len(names))
		for _, name := range names {
			c.out = redcon.AppendBulkString(c.out, name)
			c.out = redcon.AppendArray(c.out, 2)
			c.out = redcon.AppendBulkString(c.out, "summary")
			c.out = redcon.AppendBulkString(c.out, commands[name].summary)
		}
	case sub == "help":
		c.help("command", args)
	case sub == "list":
		c.refuse("ERR syntax error")
	case sub == "count":
		c.badArity("command", sub)
	default:
		c.badSubcommand(args)
	}
}

// describeAll tells commands as Redis 7 does, and null for those that are not served.
func (c *conn) describeAll(names []string) {
	c.out = redcon.AppendArray(c.out, len(names))
	for _, name := range names {
		cmd := commands[name]
		if cmd == nil {
			c.out = redcon.AppendNull(c.out)
			continue
		}
		c.out = redcon.AppendArray(c.out, 10)
		c.out = redcon.AppendBulkString(c.out, name)
		c.out = redcon.AppendInt(c.out, int64(cmd.arity))
		c.out = redcon.AppendArray(c.out, len(cmd.flags))
		for _, flag := range cmd.flags {
			c.out = redcon.AppendString(c.out, flag)
		}
		for _, at := range cmd.key {
			c.out = redcon.AppendInt(c.out, int64(at))
		}
		for range 4 { // access categories, tips, key specifications, subcommands
			c.out = redcon.AppendArray(c.out, 0)
		}
	}
}
