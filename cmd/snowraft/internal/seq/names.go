package seq

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/names"
	"github.com/snowraft/snowraft/internal/names/nfc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
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
	cmd.Args, cmd.ValidArgsFunction = Args, a.CompleteFirst(Names)
	return a.Client(cmd, work)
}

// Names offers the names of sequences that begin with a text, with their descriptions.
func Names(ctx context.Context, r *cli.Remote, begin string) ([]cobra.Completion, error) {
	resp, err := r.Sequences.ListSequences(ctx, &snowraftv1.ListSequencesRequest{PageSize: cli.MostCompletions, Prefix: begin})
	return cli.Map(func(s *snowraftv1.Sequence) cobra.Completion {
		return cobra.CompletionWithDesc(s.GetName(), cli.OneLine(s.GetDescription()))
	}, resp.GetSequences()), err
}
