package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Args checks how many arguments a command is given. The names are shown
// in its errors; one in brackets is optional.
func Args(names ...string) cobra.PositionalArgs {
	required := 0
	for _, name := range names {
		if !strings.HasPrefix(name, "[") {
			required++
		}
	}
	expected := "none"
	if len(names) > 0 {
		expected = strings.Join(names, " ")
	}
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < required {
			return Usagef("%s: missing argument %s, expected %s", Below(cmd), names[len(args)], expected)
		}
		if len(args) > len(names) {
			return Usagef("%s: unexpected argument %q, expected %s", Below(cmd), args[len(names)], expected)
		}
		for i, arg := range args {
			if !utf8.ValidString(arg) { // no member could be sent it
				return Usagef("%s: %s %q: expected UTF-8", Below(cmd), strings.Trim(names[i], "[]"), arg)
			}
		}
		return nil
	}
}

// Below returns the path of a command below snowraft: "layout create".
func Below(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// Group makes cmd a noun whose subcommands do the work.
func Group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subcommands...)
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Usagef("%s: missing subcommand, expected %s", Below(cmd), Either(names))
		}
		return Usagef("%s: unknown subcommand %q, expected %s", Below(cmd), args[0], Either(names))
	}
	return cmd
}

// Either lists choices for people: "a, b or c".
func Either(choices []string) string {
	last := len(choices) - 1
	if last < 1 {
		return strings.Join(choices, "")
	}
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}
