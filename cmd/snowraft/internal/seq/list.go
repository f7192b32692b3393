package seq

import (
	"context"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newList(a *cli.App) *cobra.Command {
	var prefix, contains, order string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sequences",
		Long: `List the sequences of the cluster by name: all, or those whose names begin with --prefix.
NEXT GRANT is the first number that is not granted. REMAINING counts the numbers left in this
period.

With --sort or --contains, the list also has LEFT, the share of the period's numbers that
is left, and ENDS, the end of the period. With --sort remaining, the sequence with the
smallest share is first, and sequences without an end are last.`,
		Example: `  snowraft seq list
  snowraft seq list --prefix shop/ -o json
  snowraft seq list --sort remaining
  snowraft seq list --contains invoice --sort name`,
	}
	begin := cli.AddFlag(cmd, "", "prefix", "", cli.WordsValue(&prefix, "TEXT"), "prefix of the names to list")
	cli.AddFlag(cmd, "", "contains", "", cli.WordsValue(&contains, "TEXT"), "text that the names to list contain, ignoring the case of A to Z")
	cli.AddFlag(cmd, "", "sort", "", cli.ChoiceValue(&order, "name", "remaining"), "sort key of the list: the name, or the share of numbers left")
	cmd = a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		if order != "" || contains != "" {
			if prefix != "" {
				return cli.Usagef("--prefix cannot be combined with --contains or --sort")
			}
			return listViews(ctx, r, out, &snowraftv1.ListSequenceViewsRequest{PageSize: cli.PageSize, OrderBy: order, NameContains: contains})
		}
		sequences, err := cli.List(func(token string) ([]*snowraftv1.Sequence, string, error) {
			resp, err := r.Sequences.ListSequences(ctx, &snowraftv1.ListSequencesRequest{PageSize: cli.PageSize, PageToken: token, Prefix: prefix})
			return resp.GetSequences(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		heading := []string{"NAME", "MODE", "NEXT GRANT", "INCREMENT", "REMAINING", "RESET", "PERIOD", "FORMAT", "DESCRIPTION"}
		return out.Answer(&snowraftv1.ListSequencesResponse{Sequences: sequences}, cli.Table(sequences, heading, func(s *snowraftv1.Sequence) []any {
			return []any{
				s.GetName(), cli.Word(s.GetMode()), next(s), s.GetIncrement(), s.GetRemaining(),
				cli.Word(s.GetReset_()), s.GetPeriod(), s.GetFormat(), s.GetDescription(),
			}
		}))
	})
	a.CompleteFlag(cmd, begin.Name, Names)
	return cmd
}

// listViews lists sequences with their remaining numbers.
func listViews(ctx context.Context, r *cli.Remote, out *cli.Printer, req *snowraftv1.ListSequenceViewsRequest) error {
	all := &snowraftv1.ListSequenceViewsResponse{}
	views, err := cli.List(func(token string) ([]*snowraftv1.SequenceView, string, error) {
		req.PageToken = token
		resp, err := r.Views.ListSequenceViews(ctx, req)
		all.TotalSize = resp.GetTotalSize()
		return resp.GetSequences(), resp.GetNextPageToken(), err
	})
	if err != nil {
		return err
	}
	all.Sequences = views
	heading := []string{"NAME", "MODE", "NEXT GRANT", "REMAINING", "LEFT", "RESET", "ENDS", "DESCRIPTION"}
	return out.Answer(all, cli.Table(views, heading, func(v *snowraftv1.SequenceView) []any {
		s := v.GetSequence()
		return []any{
			s.GetName(), cli.Word(s.GetMode()), next(s), s.GetRemaining(), left(v), cli.Word(s.GetReset_()), cli.StampKnown(v.GetPeriodEndsAtMs()), s.GetDescription(),
		}
	}))
}

// left returns the remaining percentage of the numbers of a period, rounded down; empty for a sequence without an end.
func left(v *snowraftv1.SequenceView) string {
	if v.RemainingRatio == nil {
		return ""
	}
	return strconv.FormatFloat(math.Floor(1000*v.GetRemainingRatio())/10, 'f', 1, 64) + "%"
}
