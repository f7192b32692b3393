package seq

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// changed is the response to a change of a sequence.
type changed interface {
	GetSequence() *snowraftv1.Sequence
	GetUnreachedMembers() []string
}

// printChanged prints the sequence in the response to a change after done, the change in the past tense.
// A warning names the members that were not reached, and meaning, the consequence.
func printChanged(a *cli.App, p *cli.Printer, done string, resp changed, meaning string) error {
	a.WarnUnreached(resp.GetUnreachedMembers(), meaning)
	s := resp.GetSequence()
	return p.Answer(resp, cli.Line("%s sequence %q (%s)%s", done, s.GetName(), cli.Word(s.GetMode()), following(s, done)))
}

// following returns a clause about the next number after a change. It is empty if members may hold lower numbers.
func following(s *snowraftv1.Sequence, done string) string {
	switch {
	case done == "changed" && s.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED:
		return ""
	case s.Next == nil:
		return "; no number left"
	}
	return "; next number: " + number(s.Next)
}

// oldBlocks is the consequence of a change for members that were not reached.
const oldBlocks = "until they learn of the change, they may issue numbers of the blocks that they hold"

func newSet(a *cli.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "set NAME NEXT",
		Short: "Set the next number of a sequence",
		Long: `Set the next number of a sequence to NEXT, on all members. NEXT must lie within the
bounds of the sequence. Without --force, a number at or below those already
granted fails, because numbers would repeat. With a negative increment, a number at or
above them fails.

The command waits until all live members know the change and have dropped the blocks
that they hold.`,
		Example: `  snowraft seq set orders 5000
  snowraft seq set orders 1 --force
  snowraft seq set temperatures -- -40`,
	}
	cmd.SetFlagErrorFunc(negativeArgument)
	cmd.Flags().BoolVar(&force, "force", false, "set the number even if numbers repeat")
	generation := cli.AddGenerationFlag(cmd, "sequence")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		next, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return cli.Usagef("NEXT %q: expected %s", args[1], cli.WholeNumber)
		}
		resp, err := r.Sequences.SetNext(ctx, &snowraftv1.SetNextRequest{Sequence: args[0], Next: next, Force: force, ExpectedGeneration: generation()})
		if err != nil {
			return err
		}
		return printChanged(a, out, "set", resp, oldBlocks)
	})
}

// negativeArgument is FlagError for commands that accept negative numbers as
// arguments, which look like flags.
func negativeArgument(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return cli.FlagError(cmd, err)
	}
	number := "-" + unknown.GetSpecifiedShortnames()
	if _, err := strconv.ParseInt(number, 10, 64); err != nil {
		return cli.FlagError(cmd, unknown)
	}
	return cli.Usagef("%s: %s looks like a flag; put -- before a negative number: \"%s NAME -- %s\"", cli.Below(cmd), number, cmd.CommandPath(), number)
}

func newDelete(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a sequence",
		Long: `Delete a sequence. The cluster remembers which numbers it issued, so that a new sequence
of this name does not repeat them by accident (see "snowraft seq create").`,
		Example: `  snowraft seq delete orders
  snowraft seq delete orders --if-generation 17`,
	}
	generation, ask := cli.AddGenerationFlag(cmd, "sequence"), a.Confirm(cmd)
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if err := ask("Delete the sequence %q?", args[0]); err != nil {
			return err
		}
		resp, err := r.Sequences.DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: args[0], ExpectedGeneration: generation()})
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), oldBlocks)
		return out.Answer(resp, cli.Line("deleted sequence %q", args[0]))
	})
}
