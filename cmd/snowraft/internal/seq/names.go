package seq

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/names"
	"github.com/snowraft/snowraft/internal/names/nfc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// completionPatience is the longest time that completion waits for names.
	completionPatience = time.Second
	// mostCompletions is the greatest number of names offered.
	mostCompletions = 100
)

// Args checks the arguments of a command whose first argument is the name of a sequence. It uses no Unicode tables,
// so that it accepts a name that a later version has created.
func Args(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if err := names.Check(cli.Below(cmd)+": NAME", args[0]); err != nil {
			return cli.Usagef("%v", err)
		}
	}
	return cli.Args(cmd, args)
}

// newArgs is Args for a command that gives the name to a new sequence.
func newArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if err := nfc.Check(cli.Below(cmd)+": NAME", args[0]); err != nil {
			return cli.Usagef("%v", err)
		}
	}
	return cli.Args(cmd, args)
}

// client makes cmd a client command whose first argument is the name of
// a sequence. Shells offer the existing names.
func client(a *cli.App, cmd *cobra.Command, work func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = Args, Complete(a)
	return a.Client(cmd, work)
}

// Complete offers names of sequences for the first argument.
func Complete(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return existing(a, cmd, begin)
	}
}

// completeFlag makes shells offer the names of sequences for a flag.
func completeFlag(a *cli.App, cmd *cobra.Command, flag string) {
	// The only possible error is that the flag does not exist or was registered before.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
		return existing(a, cmd, begin)
	})
}

// existing returns the names with the prefix begin, with their descriptions.
// It offers nothing after an error, because nothing shows errors during completion.
func existing(a *cli.App, cmd *cobra.Command, begin string) ([]string, cobra.ShellCompDirective) {
	if err := cli.Resolve(cmd.Flags(), a.Env, nil); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	addresses := cmd.Flags().Lookup(cli.AddrFlag).Value.String()
	r, err := cli.Dial(strings.Split(addresses, ","), completionPatience, cli.AccessOf(cmd.Flags()))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer r.Close()
	resp, err := r.Sequences.ListSequences(cmd.Context(), &snowraftv1.ListSequencesRequest{PageSize: mostCompletions, Prefix: begin})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offered []string
	for _, s := range resp.GetSequences() {
		offered = append(offered, cobra.CompletionWithDesc(s.GetName(), cli.OneLine(s.GetDescription())))
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}
