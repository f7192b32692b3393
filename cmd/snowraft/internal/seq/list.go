package seq

import (
	"context"
	"math"
	"slices"
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
LAST is the last number that was issued in this period, and LEFT counts those that can
still be issued. Members issue the numbers of a relaxed sequence from blocks in their
memory: LAST is then at most the end of the last block, as in "up to 300", and LEFT counts
the numbers in no block.

With --sort or --contains, the list also has PART, the part of the period's numbers that
is left, and ENDS, the end of the period. With --sort remaining, the sequence with the
smallest part is first, and sequences without an end are last. With --sort open, the one
with the oldest open reservation is first.

If sequences are frozen by a restore or moved to another system, STATE says so. If there
are gapless sequences, OPEN counts their open reservations, and OLDEST is the time
of the oldest one.`,
		Example: `  snowraft seq list
  snowraft seq list --prefix shop/ -o json
  snowraft seq list --sort remaining
  snowraft seq list --sort open
  snowraft seq list --contains invoice --sort name`,
	}
	begin := cli.AddFlag(cmd, "", "prefix", "", cli.WordsValue(&prefix, "TEXT"), "prefix of the names to list")
	cli.AddFlag(cmd, "", "contains", "", cli.WordsValue(&contains, "TEXT"), "text that the names to list contain, ignoring the case of A to Z")
	cli.AddFlag(cmd, "", "sort", "", cli.ChoiceValue(&order, "name", "remaining", "open"), "sort key of the list: the name, the part of the numbers that is left, or the oldest open reservation")
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
		some := columnsOf(sequences)
		heading := slices.Concat([]string{"NAME", "MODE", "LAST", "LEFT"}, some.heading(), []string{"INCREMENT", "RESET", "PERIOD", "FORMAT", "DESCRIPTION"})
		return out.Answer(&snowraftv1.ListSequencesResponse{Sequences: sequences}, cli.Table(sequences, heading, func(s *snowraftv1.Sequence) []any {
			return slices.Concat([]any{s.GetName(), cli.Word(s.GetMode()), last(s), s.GetRemaining()}, some.cells(s), []any{
				s.GetIncrement(), cli.Word(s.GetReset_()), s.GetPeriod(), s.GetFormat(), s.GetDescription(),
			})
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
	sequences := make([]*snowraftv1.Sequence, len(views))
	for i, v := range views {
		sequences[i] = v.GetSequence()
	}
	some := columnsOf(sequences)
	heading := slices.Concat([]string{"NAME", "MODE", "LAST", "LEFT", "PART"}, some.heading(), []string{"RESET", "ENDS", "DESCRIPTION"})
	return out.Answer(all, cli.Table(views, heading, func(v *snowraftv1.SequenceView) []any {
		s := v.GetSequence()
		return slices.Concat([]any{s.GetName(), cli.Word(s.GetMode()), last(s), s.GetRemaining(), part(v)}, some.cells(s), []any{
			cli.Word(s.GetReset_()), cli.StampKnown(v.GetPeriodEndsAtMs()), s.GetDescription(),
		})
	}))
}

// columns are the columns of a list that are shown only if a sequence has something in them.
type columns struct{ state, open bool }

func columnsOf(all []*snowraftv1.Sequence) columns {
	return columns{
		state: slices.ContainsFunc(all, func(s *snowraftv1.Sequence) bool { return state(s) != "" }), open: slices.ContainsFunc(all, gapless),
	}
}

func gapless(s *snowraftv1.Sequence) bool {
	return s.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS
}

// state returns the reason for which a sequence grants nothing; empty if there is none.
func state(s *snowraftv1.Sequence) string {
	switch {
	case s.GetFrozen():
		return "frozen"
	case s.GetMoved():
		return "moved"
	}
	return ""
}

func (c columns) heading() (titles []string) {
	if c.state {
		titles = append(titles, "STATE")
	}
	if c.open {
		titles = append(titles, "OPEN", "OLDEST")
	}
	return titles
}

func (c columns) cells(s *snowraftv1.Sequence) (cells []any) {
	if c.state {
		cells = append(cells, state(s))
	}
	switch {
	case !c.open:
	case gapless(s):
		cells = append(cells, s.GetOpenReservations(), cli.StampKnown(s.GetOldestOpenAtMs()))
	default:
		cells = append(cells, "", "")
	}
	return cells
}

// part returns the remaining percentage of the numbers of a period, rounded down; empty for a sequence without an end.
func part(v *snowraftv1.SequenceView) string {
	if v.RemainingRatio == nil {
		return ""
	}
	return strconv.FormatFloat(math.Floor(1000*v.GetRemainingRatio())/10, 'f', 1, 64) + "%"
}
