package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/apply"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/backfill"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/backup"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/bench"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cluster"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/contexts"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/debug"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/events"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/id"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/layout"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/leader"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/member"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/migrate"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/restore"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/secret"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/seq"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/serve"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/template"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/token"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/top"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/upgrade"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/worker"
)

// The groups of commands in the help.
const (
	groupMember  = "member"
	groupIDs     = "ids"
	groupOperate = "operate"
	groupOther   = "other"
)

// newRoot returns the whole command tree.
func newRoot(h *serve.Host) *cobra.Command {
	a := h.App
	root := &cobra.Command{
		Use:   "snowraft",
		Short: "Issue unique, time-ordered IDs from a highly available cluster",
		Long: `Issue unique, time-ordered 64-bit IDs from a highly available cluster. Members
agree through Raft on ranges of time, and then issue IDs from memory.

Client commands call the members in --addr or SNOWRAFT_ADDR, and try each of them
before they fail. Results go to standard output, as text or with -o json as the
JSON of the API; errors and logs go to standard error. Exit codes: 0 done,
1 failed, 2 wrong usage, 3 failed for now, 10 member removed
(see "snowraft help exit-codes").`,
		Example: `  snowraft dev                        run a cluster of three members
  snowraft id -n 5                    issue five IDs, in a second terminal
  snowraft decode 132271570944028672  decode an ID into its fields`,
		Args:    cobra.ArbitraryArgs,
		Version: a.Version,
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
	root.SetOut(a.Stdout) // addCompletion keeps it
	root.SetVersionTemplate("snowraft {{.Version}}\n")

	root.AddGroup(
		&cobra.Group{ID: groupMember, Title: "Run a member or a gateway:"},
		&cobra.Group{ID: groupIDs, Title: "IDs and numbers:"},
		&cobra.Group{ID: groupOperate, Title: "Operate a cluster:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	add := func(id string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = id
		}
		root.AddCommand(commands...)
	}
	add(groupMember, serve.New(h), serve.NewGateway(h), serve.NewDev(h))
	add(groupIDs, id.New(a), id.NewDecode(a), id.NewEncode(a), id.NewWhoIs(a), layout.New(a), backfill.New(a), seq.New(a), template.New(a))
	add(groupOperate, top.New(a), cluster.NewStatus(a), serve.NewHealth(h), events.New(a), member.New(a), leader.New(a), worker.New(a),
		cluster.New(a), cluster.NewConfig(a), apply.New(a), apply.NewExport(a), cluster.NewClock(a), secret.New(a), token.New(a), backup.New(a), restore.New(a), migrate.NewImport(a), migrate.NewExport(a), upgrade.New(a), debug.New(a), bench.New(a))
	add(groupOther, contexts.New(a), newVersion(a))
	root.AddCommand(exitCodes())
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID(groupOther)
	addCompletion(root)
	return root
}

// unknownCommand returns the error for a name that no command has. A subcommand may have that name, such as "leave" of "member",
// or the name may be a command's with a typing error.
func unknownCommand(root *cobra.Command, name string) error {
	var subcommands []string
	for _, group := range root.Commands() {
		for _, sub := range group.Commands() {
			if sub.Name() == name {
				subcommands = append(subcommands, cli.Below(sub))
			}
		}
	}
	typos := min(2, len(name)/2) // two errors in a short name would match most names
	if len(subcommands) > 0 {
		typos = 1
	}
	root.SuggestionsMinimumDistance = typos // the greatest distance, despite its name
	near := append(root.SuggestionsFor(name), subcommands...)
	if len(near) > 0 {
		quoted := cli.Map(func(path string) string { return strconv.Quote("snowraft " + path) }, near)
		return cli.Usagef("unknown command %q; did you mean %s?", name, cli.Either(quoted))
	}
	return cli.Usagef("unknown command %q; see \"snowraft help\"", name)
}
