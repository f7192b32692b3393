package redis

import (
	"strings"

	"github.com/tidwall/redcon"
)

// helps are what HELP tells of the commands that have subcommands, in Redis's words as far as
// it has any: of the subcommands that are served.
var helps = map[string][]string{
	"client": {
		"GETNAME",
		"    Return the name of the current connection.",
		"ID",
		"    Return the ID of the current connection.",
		"INFO",
		"    Return information about the current client connection.",
		"LIST [options ...]",
		"    Return information about the current client connection only.",
		"REPLY ON",
		"    Control the replies sent to the current connection.",
		"SETINFO <attribute> <value>",
		"    Take the name or the version of the client library, for nothing.",
		"SETNAME <name>",
		"    Assign the name <name> to the current connection.",
		"NO-EVICT (ON|OFF)",
		"    Protect current client connection from eviction, which there is none of.",
		"NO-TOUCH (ON|OFF)",
		"    Change nothing, as no key is ever evicted.",
	},
	"command": {
		"(no subcommand)",
		"    Return details about all commands that are served.",
		"COUNT",
		"    Return the total number of commands that are served.",
		"LIST",
		"    Return a list of all commands that are served.",
		"INFO [<command-name> ...]",
		"    Return details about multiple commands.",
		"DOCS [<command-name> ...]",
		"    Return documentation details about multiple commands.",
	},
	"config": {
		"GET <parameter> [<parameter> ...]",
		"    Return these parameters and their values; * returns all.",
	},
}

// help answers the subcommand HELP in Redis's form: lines that are simple strings.
func (c *conn) help(name string, args [][]byte) {
	if len(args) != 2 {
		c.badArity(name, "help")
		return
	}
	lines := helps[name]
	c.out = redcon.AppendArray(c.out, len(lines)+3)
	c.out = redcon.AppendString(c.out, strings.ToUpper(name)+" <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for _, line := range lines {
		c.out = redcon.AppendString(c.out, line)
	}
	c.out = redcon.AppendString(c.out, "HELP")
	c.out = redcon.AppendString(c.out, "    Prints this help.")
}
