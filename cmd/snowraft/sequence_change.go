package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// changedSequenceDoc is a sequence after a change, and who may not know of it yet.
type changedSequenceDoc struct {
	sequenceDoc
	Unreached []string `json:"unreached_members"`
}

func (a *app) sequenceCreateCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a sequence",
		Long: `Creates a sequence. Creating the same one again does nothing; another one under a
name that is taken is refused.

What a deleted sequence gave out is remembered. Creating one of its name that
would give out the same numbers again is refused unless --force is given: choose
a --start beyond them instead.

Names have 1 to 128 bytes of printable UTF-8 without spaces; case matters.`,
		Example: `  snowraft seq create orders
  snowraft seq create invoices --mode strict --reset yearly --time-zone Europe/Berlin --format 'INV-{date:yyyy}-{seq:06}'
  snowraft seq create shop/east --start 1 --increment 2
  snowraft seq create countdown --start 10 --increment -1 --min 0`,
		Args: sequenceArguments(),
	}
	f := addSequenceFlags(cmd, false)
	cmd.Flags().BoolVar(&force, "force", false, "create it even if numbers of a deleted sequence of this name repeat")
	return a.client(cmd, func(ctx context.Context, r *remote, args []string) error {
		spec, _ := f.sequence(args[0], cmd.Flags())
		resp, err := r.sequences().CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: spec, Force: force})
		if err != nil {
			return err
		}
		a.warnUnreached(resp.GetUnreachedMembers(), "they may not know the sequence yet")
		return r.out.changedSequence("created", resp.GetSequence(), resp.GetUnreachedMembers())
	})
}

func (a *app) sequenceUpdateCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "update NAME",
		Short: "Change a sequence",
		Long: `Changes what is given and leaves everything else as it is. An empty --format,
--description or --time-zone goes back to none, none and UTC; the word default
does so for --start, --increment, --min and --max.

The change reaches all live members before this returns, and they drop the blocks
that they hold: the rest of those is a gap. A change after which numbers would
repeat is refused unless --force is given: an increment of the other sign, or a
reset with a format that does not tell its periods apart.`,
		Example: `  snowraft seq update orders --format 'ORD{seq:08}'
  snowraft seq update orders --mode strict --description shop
  snowraft seq update orders --max default`,
		Args: sequenceArguments(),
	}
	f := addSequenceFlags(cmd, true)
	cmd.Flags().BoolVar(&force, "force", false, "change it even if numbers repeat")
	return a.sequenceClient(cmd, func(ctx context.Context, r *remote, args []string) error {
		spec, mask := f.sequence(args[0], cmd.Flags())
		if len(mask) == 0 {
			return usagef("seq update: missing flag, expected what to change, such as --format or --max")
		}
		resp, err := r.sequences().UpdateSequence(ctx, &snowraftv1.UpdateSequenceRequest{
			Sequence: spec, UpdateMask: &fieldmaskpb.FieldMask{Paths: mask}, Force: force,
		})
		if err != nil {
			return err
		}
		a.warnUnreached(resp.GetUnreachedMembers(), oldBlocks)
		return r.out.changedSequence("changed", resp.GetSequence(), resp.GetUnreachedMembers())
	})
}

func (a *app) sequenceSetCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "set NAME NEXT",
		Short: "Make a sequence go on with a number",
		Long: `Makes NEXT the next number that is given out, by whichever member. It must lie
within the bounds of the sequence. A number at or below what was granted is
refused unless --force is given, as numbers would repeat (at or above it, with a
negative increment).

The change reaches all live members before this returns, and they drop the blocks
that they hold.`,
		Example: `  snowraft seq set orders 5000
  snowraft seq set orders 1 --force
  snowraft seq set temperatures -- -40`,
		Args: sequenceArguments("NEXT"),
	}
	cmd.SetFlagErrorFunc(negativeArgument)
	cmd.Flags().BoolVar(&force, "force", false, "go on there even if numbers repeat")
	return a.sequenceClient(cmd, func(ctx context.Context, r *remote, args []string) error {
		next, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return usagef("NEXT %q: expected %s", args[1], wholeNumber)
		}
		resp, err := r.sequences().SetNext(ctx, &snowraftv1.SetNextRequest{Sequence: args[0], Next: next, Force: force})
		if err != nil {
			return err
		}
		a.warnUnreached(resp.GetUnreachedMembers(), oldBlocks)
		return r.out.changedSequence("set", resp.GetSequence(), resp.GetUnreachedMembers())
	})
}

// negativeArgument is flagError for commands whose arguments may be negative
// numbers, which look like flags.
func negativeArgument(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return flagError(cmd, err)
	}
	number := "-" + unknown.GetSpecifiedShortnames()
	if _, err := strconv.ParseInt(number, 10, 64); err != nil {
		return flagError(cmd, unknown)
	}
	return usagef("%s: %s looks like a flag, expected -- before a negative number: \"%s NAME -- %s\"", below(cmd), number, cmd.CommandPath(), number)
}

func (a *app) sequenceDeleteCommand() *cobra.Command {
	return a.sequenceClient(&cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a sequence",
		Long: `Deletes a sequence. What it gave out is remembered, so that one that is created
under its name later does not repeat it by accident (see "snowraft seq create").`,
		Example: `  snowraft seq delete orders`,
		Args:    sequenceArguments(),
	}, func(ctx context.Context, r *remote, args []string) error {
		resp, err := r.sequences().DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: args[0]})
		if err != nil {
			return err
		}
		a.warnUnreached(resp.GetUnreachedMembers(), oldBlocks)
		doc := struct {
			Name      string   `json:"name"`
			Unreached []string `json:"unreached_members"`
		}{args[0], append([]string{}, resp.GetUnreachedMembers()...)}
		return r.out.answer(doc, line("deleted %s", doc.Name))
	})
}

// changedSequence prints what became of a sequence.
func (p *printer) changedSequence(done string, s *snowraftv1.Sequence, unreached []string) error {
	d := changedSequenceDoc{newSequenceDoc(s), append([]string{}, unreached...)} // never null in JSON
	goesOn := "has no number left"
	if d.Next != nil {
		goesOn = fmt.Sprintf("goes on with %d", *d.Next)
	}
	return p.answer(d, line("%s %s (%s), which %s", done, d.Name, d.Mode, goesOn))
}

// oldBlocks is what a change means to members that were not reached.
const oldBlocks = "until they know of the change, they may go on giving out numbers of the blocks that they hold"

// warnUnreached tells people that members did not answer in time, and what that means.
func (a *app) warnUnreached(members []string, meaning string) {
	if len(members) > 0 {
		a.warn("done, but not answered in time by %s: %s", strings.Join(members, ", "), meaning)
	}
}
