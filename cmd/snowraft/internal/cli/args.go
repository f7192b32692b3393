package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Args checks that a command gets the arguments that its Use names. An argument in brackets is optional. The last argument may
// be repeated if its name ends in dots. Arguments must be UTF-8. The errors are usage errors.
func Args(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:]
	takes := Below(cmd) + " takes no arguments"
	if len(names) > 0 {
		takes = Below(cmd) + " takes " + strings.Join(names, " ")
	}
	if repeated := len(names) > 0 && strings.HasSuffix(strings.TrimSuffix(names[len(names)-1], "]"), "..."); repeated {
		for len(names) < len(args) {
			names = append(names, names[len(names)-1])
		}
	}
	if len(args) > len(names) {
		return Usagef("unexpected argument %q; %s", args[len(names)], takes)
	}
	for i, name := range names {
		switch {
		case i >= len(args) && !strings.HasPrefix(name, "["):
			return Usagef("missing argument %s; %s", strings.TrimSuffix(name, "..."), takes)
		case i < len(args) && !utf8.ValidString(args[i]): // cannot be sent to a member
			return Usagef("%s: %s %q: expected UTF-8", Below(cmd), strings.Trim(name, "[]."), args[i])
		}
	}
	return nil
}

// Below returns the path of a command without "snowraft": "layout create".
func Below(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// Group makes cmd a noun whose subcommands do the work. It returns cmd, which fails without a subcommand.
func Group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subcommands...)
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Usagef("%s: missing subcommand; expected %s", Below(cmd), Either(names))
		}
		return Usagef("%s: unknown subcommand %q; expected %s", Below(cmd), args[0], Either(names))
	}
	return cmd
}

// Either joins choices for people: "a, b or c".
func Either(choices []string) string {
	last := len(choices) - 1
	if last < 1 {
		return strings.Join(choices, "")
	}
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}
