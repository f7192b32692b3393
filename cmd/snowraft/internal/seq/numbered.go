package seq

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// runFlags are the flags of commands about a run of numbers.
type runFlags struct {
	count  uint64
	period string
	reason string
}

func addRunFlags(cmd *cobra.Command) *runFlags {
	f := &runFlags{count: 1}
	cli.AddFlag(cmd, "", "count", "n", cli.UintValue(&f.count, 1), "number of consecutive numbers")
	addPeriodFlag(cmd, &f.period)
	cli.AddFlag(cmd, "", "reason", "", cli.WordsValue(&f.reason, "TEXT"), "reason, at most 256 bytes")
	return f
}

func addPeriodFlag(cmd *cobra.Command, period *string) {
	cli.AddFlag(cmd, "", "period", "", cli.WordsValue(period, "PERIOD"), "first day of the period, such as 2026-10-01, or its beginning, such as 2026 (default: the current period)")
}

// periodOf returns the first day of the period that --period names. A text that is shorter than a day is the beginning of
// exactly one period that the sequence has.
func periodOf(ctx context.Context, r *cli.Remote, sequence, given string) (string, error) {
	if given == "" || len(given) >= len("2026-10-01") {
		return given, nil // the member checks it
	}
	all, err := cli.List(func(token string) ([]*snowraftv1.PeriodSummary, string, error) {
		resp, err := r.Reservations.ListPeriods(ctx, &snowraftv1.ListPeriodsRequest{Sequence: sequence, PageSize: cli.PageSize, PageToken: token})
		return resp.GetPeriods(), resp.GetNextPageToken(), err
	})
	if err != nil {
		return "", err
	}
	var found []string
	for _, p := range all {
		if strings.HasPrefix(p.GetPeriod(), given) {
			found = append(found, p.GetPeriod())
		}
	}
	switch len(found) {
	case 0:
		return "", cli.Usagef("--period %q: sequence %q has no period that begins so; expected a day such as 2026-10-01", given, sequence)
	case 1:
		return found[0], nil
	}
	return "", cli.Usagef("--period %q: %d periods of sequence %q begin so, from %s to %s; give the whole day", given, len(found), sequence, found[len(found)-1], found[0])
}

func numberArgument(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, cli.Usagef("NUMBER %q: expected %s", text, cli.WholeNumber)
	}
	return n, nil
}

// runOf describes a run of numbers.
func runOf(first int64, count uint64) string {
	if count <= 1 {
		return strconv.FormatInt(first, 10)
	}
	return strconv.FormatInt(first, 10) + " to " + strconv.FormatInt(first+int64(count-1), 10) //nolint:gosec // a run of int64 numbers
}

func newTake(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "take NAME NUMBER",
		Short: "Record a number that was drawn elsewhere",
		Long: `Record a number of a gapless sequence that was drawn elsewhere, such as on paper. The
sequence never reserves it. A number that the sequence reserved itself cannot be taken.
Taking the same numbers again changes nothing and succeeds.`,
		Example: `  snowraft seq take invoices 4711 --reason handwritten
  snowraft seq take invoices 1 -n 5000 --period 2026-01-01 --reason migrated`,
	}
	f := addRunFlags(cmd)
	cmd.SetFlagErrorFunc(negativeArgument)
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		number, err := numberArgument(args[1])
		if err != nil {
			return err
		}
		period, err := periodOf(ctx, r, args[0], f.period)
		if err != nil {
			return err
		}
		resp, err := r.Reservations.TakeNumbers(ctx, &snowraftv1.TakeNumbersRequest{
			Sequence: args[0], Number: number, Count: f.count, Period: period, Reason: f.reason,
		})
		if err != nil {
			return err
		}
		return out.Answer(resp, cli.Line("took %s of sequence %q", runOf(number, f.count), args[0]))
	})
}

func newResolve(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resolve NAME NUMBER used|void",
		Short: "Record the fate of a number that a restore left unknown",
		Long: `Record the fate of a number of a gapless sequence that a restore left unknown: used or
void. The database of the application knows which. A void number needs a --reason. Make sure
that no transaction can commit it anymore: first commit a void row for it.

"snowraft seq audit" lists the unknown numbers. They are never reserved again, whatever
their fate. Resolving the same numbers to the same fate again changes nothing and succeeds.`,
		Example: `  snowraft seq resolve invoices 4711 used
  snowraft seq resolve invoices 4712 void --reason rolled-back
  snowraft seq resolve invoices 4720 -n 80 void --period 2026 --reason unused`,
	}
	f := addRunFlags(cmd)
	cmd.SetFlagErrorFunc(negativeArgument)
	cmd = client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		number, err := numberArgument(args[1])
		if err != nil {
			return err
		}
		fates := map[string]snowraftv1.NumberFate{"used": snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED, "void": snowraftv1.NumberFate_NUMBER_FATE_VOID}
		fate, known := fates[args[2]]
		switch {
		case !known:
			return cli.Usagef("%q: expected used or void", args[2])
		case args[2] == "void" && f.reason == "":
			return cli.Usagef("%s: missing --reason; the cluster keeps it with the number", cli.Below(cmd))
		case args[2] == "used" && f.reason != "":
			return cli.Usagef("--reason cannot be combined with used; it is for void numbers")
		}
		period, err := periodOf(ctx, r, args[0], f.period)
		if err != nil {
			return err
		}
		resp, err := r.Reservations.ResolveNumbers(ctx, &snowraftv1.ResolveNumbersRequest{
			Sequence: args[0], Number: number, Count: f.count, Period: period, Fate: fate, Reason: f.reason,
		})
		if err != nil {
			return err
		}
		return out.Answer(resp, cli.Line("resolved %s of sequence %q as %s", runOf(number, f.count), args[0], args[2]))
	})
	names := cmd.ValidArgsFunction
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 2 {
			return []cobra.Completion{"used", "void"}, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd, args, begin)
	}
	return cmd
}
