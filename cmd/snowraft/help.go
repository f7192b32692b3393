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

// exitCodes returns a help topic: a command that cannot be run.
func exitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "Explain the exit codes",
		Long: `The exit codes of snowraft:

  0  The command succeeded. For serve, gateway and dev: the process shut down
     gracefully after SIGINT (Ctrl-C) or SIGTERM, or the member left its
     cluster. A warning is a line on standard error that begins with "snowraft:
     warning:". For example, it lists members that did not acknowledge a change
     in time.
  1  The command failed: a member refused the request, the outcome is unknown, a
     port is taken, a directory is not writable, a member halted, or a second
     signal interrupted the shutdown. Standard error has the reason. An error of
     a member ends with its reason in brackets, such as [UNKNOWN_SEQUENCE].
  2  The command line, the environment or the configuration file is wrong. One
     line on standard error names the setting and the expected value. The
     command did nothing.
  3  The command failed for now. The same command may succeed later, and a
     second run does no harm: no member could be reached, the cluster has no
     leader, a member is overloaded or shutting down, or a clock is off. After
     an unknown outcome, the exit code is 3 only if a second run does no harm.
  4  For apply --dry-run: the cluster differs from the file.
 10  For serve: the member was removed from its cluster, or its cluster was
     superseded. Do not restart the member automatically, because every further
     start with this data directory fails in the same way.
 75  For worker run: the end of its lease ended the command. Other codes from 4
     are those of the command, or 128 plus the number of the signal that killed
     it.

Output before exit code 1 or 3 stays valid: "id" and "seq next" split a large count
into several calls. With -o json, the error is one line on standard error: a
google.rpc.Status in JSON, as over HTTP.

If a signal stops a client command, shells report 128 plus the signal number, which
is 130 after Ctrl-C.`,
		Example: `  snowraft id >/dev/null 2>&1 || echo "no IDs: exit code $?"`,
	}
}

// helpCommand returns the command help. It replaces cobra's, which succeeds for an unknown topic.
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
