package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// addCompletion adds cobra's completion command, with examples.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Short = "Generate a shell completion script"
		cmd.Example = `  source <(snowraft completion bash)
  snowraft completion zsh >"${fpath[1]}/_snowraft"`
		cmd.GroupID = groupOther
		cli.Group(cmd)
		for _, shell := range cmd.Commands() {
			shell.Args = cli.Args
			shell.Example = "  snowraft completion " + shell.Name()
		}
	}
}

// exitCodes is a help topic: a command that cannot be run.
func exitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "Explain the exit codes",
		Long: `The exit codes of snowraft:

  0  Done. For serve and dev: ended by SIGINT (Ctrl-C) or SIGTERM in good order,
     or the member left its cluster. A line on standard error that begins with
     "snowraft: warning:" says what else to know, such as which members did not
     hear of a changed sequence in time.
  1  The command failed: a member refused it, its outcome is unknown, a port is
     taken, a directory is not writable, a member was removed or halted, or a
     second signal ended it before the shutdown was complete. Standard error says
     what happened; the error of a member ends with its reason in brackets, such
     as [UNKNOWN_SEQUENCE].
  2  The command line, the environment or the configuration file is wrong. One
     line on standard error names what is wrong and what was expected. Nothing
     was tried.
  3  The command failed for now. The same command may succeed later, and repeating
     it does no harm: no member could be reached, the cluster has no leader, a
     member is overloaded or shutting down, or a clock is off. After an unknown
     outcome, the exit code is 3 only if a second run would do no harm.

After exit code 1 or 3, what was printed before stands: "id" and "seq next" request
large numbers in several calls. With -o json, the error is a google.rpc.Status in
JSON, as over HTTP, on a line of its own.

A client command that is ended by a signal has no exit code of its own: shells
report 128 plus the signal's number, so 130 after Ctrl-C.`,
		Example: `  snowraft id >/dev/null 2>&1 || echo "no IDs: exit code $?"`,
	}
}

// helpCommand replaces cobra's, which ends well when there is no such topic.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show help for a command",
		Long:  `Show help for a command or a topic, with its flags and examples.`,
		Example: `  snowraft help serve
  snowraft help layout create
  snowraft help exit-codes`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if at, _, err := cmd.Root().Find(args); err == nil {
				for _, sub := range at.Commands() {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return cli.Usagef("unknown help topic %q; see \"snowraft help\"", strings.Join(args, " "))
			}
			at.InitDefaultHelpFlag()
			at.InitDefaultVersionFlag()
			return at.Help()
		},
	}
}
