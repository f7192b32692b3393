package redis

import (
	"strings"

	"github.com/tidwall/redcon"
)

// subcommand is a second word that some commands have.
type subcommand struct {
	usage   string // begins with the subcommand's name
	arity   int    // same meaning as a command's
	serve   func(c *conn, args [][]byte)
	summary string // empty: omitted from HELP
}

// subcommands are in the order of HELP, with Redis's texts where Redis has one.
var subcommands = map[string][]subcommand{
	"client": {
		{"GETNAME", 2, (*conn).getName, "Return the name of the current connection."},
		{"ID", 2, (*conn).clientID, "Return the ID of the current connection."},
		{"INFO", 2, (*conn).clientInfo, "Return information about the current client connection."},
		{"LIST [options ...]", -2, (*conn).clientInfo, "Return information about the current client connection only."},
		{"REPLY ON", 3, (*conn).reply, "Control the replies sent to the current connection."},
		{"SETINFO <attribute> <value>", 4, func(c *conn, _ [][]byte) { c.ok() }, "Accept the name or the version of the client library, and ignore it."},
		{"SETNAME <name>", 3, (*conn).setName, "Assign the name <name> to the current connection."},
		{"TRACKING (ON OPTIN|OFF)", -3, (*conn).tracking, "Accept and ignore the setting. No key can be cached, so CLIENT CACHING fails."},
		{"NO-EVICT (ON|OFF)", 3, (*conn).onOrOff, "Accept and ignore the setting. An idle connection may be closed to make room for a new one."},
		{"NO-TOUCH (ON|OFF)", 3, (*conn).onOrOff, "Accept and ignore the setting. No key is ever evicted."},
	},
	"command": {
		{"(no subcommand)", 1, nil, "Return details about all commands that are served."},
		{"COUNT", 2, (*conn).commandCount, "Return the total number of commands that are served."},
		{"LIST", -2, (*conn).commandList, "Return a list of all commands that are served."},
		{"INFO [<command-name> ...]", -2, (*conn).commandInfo, "Return details about multiple commands."},
		{"DOCS [<command-name> ...]", -2, (*conn).commandDocs, "Return documentation details about multiple commands."},
	},
	"config": {
		{"GET <parameter> [<parameter> ...]", -3, (*conn).configGet, "Return these parameters and their values; * returns all."},
		{"SET", -2, (*conn).refuseConfig, ""},
		{"REWRITE", -2, (*conn).refuseConfig, ""},
		{"RESETSTAT", -2, (*conn).refuseConfig, ""},
	},
}

// second serves a command by its second word.
func (c *conn) second(args [][]byte) {
	name, sub := strings.ToLower(string(args[0])), subcommandName(args)
	all := subcommands[name]
	if sub == "help" {
		all = []subcommand{{"HELP", 2, (*conn).help, ""}}
	}
	for _, s := range all {
		switch called, _, _ := strings.Cut(s.usage, " "); {
		case s.serve == nil || strings.ToLower(called) != sub:
			continue
		case arityFits(s.arity, len(args)):
			s.serve(c, args)
		default:
			c.refuse("ERR wrong number of arguments for '" + name + "|" + sub + "' command")
		}
		return
	}
	c.refuse("ERR unknown subcommand '" + clip(args[1], 128) + "'. Try " + strings.ToUpper(name) + " HELP.")
}

// subcommandName returns the second word of a command in lower case.
func subcommandName(args [][]byte) string { return strings.ToLower(string(args[1])) }

// help answers the subcommand HELP in Redis's form, an array of simple strings.
func (c *conn) help(args [][]byte) {
	name := string(args[0])
	lines := []string{strings.ToUpper(name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	for _, s := range append(subcommands[strings.ToLower(name)], subcommand{usage: "HELP", summary: "Prints this help."}) {
		if s.summary != "" {
			lines = append(lines, s.usage, "    "+s.summary)
		}
	}
	c.out = redcon.AppendArray(c.out, len(lines))
	for _, line := range lines {
		c.out = redcon.AppendString(c.out, line)
	}
}
