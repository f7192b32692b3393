package seq

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// number returns a number; empty if there is none.
func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// last returns the last issued number, or the last number that can have been issued; empty if there is none.
func last(s *snowraftv1.Sequence) string {
	if s.LastAtMost != nil {
		return "up to " + number(s.LastAtMost)
	}
	return number(s.Last)
}

// endedPeriods returns a block with the periods that ended and whose ends are known.
func endedPeriods(s *snowraftv1.Sequence) cli.Block {
	return cli.Table(s.GetEndedPeriods(), []string{"ENDED PERIOD", "NEXT", "LEFT", "STATE"}, func(e *snowraftv1.EndedPeriod) []any {
		state := "known"
		if e.GetFrozen() {
			state = "closed by a restore"
		}
		return []any{e.GetPeriod(), number(e.Next), e.GetRemaining(), state}
	})
}

// record returns a block with all fields of a sequence.
func record(s *snowraftv1.Sequence) cli.Block {
	relaxed, next := s.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, "Next"
	if relaxed {
		next = "Next block"
	}
	return cli.Record(
		"Name", s.GetName(),
		"Description", s.GetDescription(),
		"Mode", cli.Word(s.GetMode()),
		"Last issued", cmp.Or(last(s), "none"),
		next, cmp.Or(number(s.Next), "none is left"),
		"Left", s.GetRemaining(),
		"Start", s.GetStart(),
		"Increment", s.GetIncrement(),
		"Range", fmt.Sprintf("%d to %d", s.GetMin(), s.GetMax()),
		"Reset", cli.Word(s.GetReset_()),
		"Period", cli.TextIf(s.GetPeriod() != "", "since %s", s.GetPeriod()),
		"Years start", s.GetYearStarts(),
		"Late", cli.TextIf(s.GetLateMs() != 0, "%s after each period", cli.DayMilliseconds(s.GetLateMs())),
		"Time zone", cmp.Or(s.GetTimeZone(), defaultTimeZone),
		"Format", s.GetFormat(),
		"Old formats", cli.TextIf(s.GetFormatsUnknown(), `unknown since a restore; see "snowraft seq resume"`),
		"Template", s.GetTemplate(),
		"Blocks", cli.TextIf(relaxed, "of %s, %d to %d numbers", cli.Milliseconds(s.GetBlockDurationMs()), s.GetMinBlock(), s.GetMaxBlock()),
		"Reuse", cli.TextIf(s.GetReuse(), "numbers that were never committed"),
		"Open", cli.TextIf(gapless(s), "%d%s", s.GetOpenReservations(), cli.TextIf(s.GetOldestOpenAtMs() != 0, ", the oldest since %s", cli.Stamp(s.GetOldestOpenAtMs()))),
		"Unknown", cli.TextIf(s.GetUnknownNumbers() > 0, `%d, by a restore; see "snowraft seq resolve"`, s.GetUnknownNumbers()),
		"Created", cli.StampKnown(s.GetCreatedAtMs()),
		"Generation", s.GetGeneration(),
		"Frozen", cli.TextIf(s.GetFrozen(), `yes, by a restore; see "snowraft seq resume"`),
		"Moved", cli.TextIf(s.GetMoved(), `yes, to another system, which issues the numbers; see "snowraft seq resume"`),
	)
}

func newGet(a *cli.App) *cobra.Command {
	var local bool
	cmd := client(a, &cobra.Command{
		Use:   "get NAME",
		Short: "Show a sequence",
		Long: `Show a sequence, as the leader knows it. Without a leader, --local shows what the
answering member knows, which may be behind.

The leader knows the last number of a strict sequence, and how many are left in this
period. Members issue the numbers of a relaxed sequence from blocks in their memory: the
last number is then at most the end of the last block, as in "up to 300", and the numbers
left are those in no block. The generation grows with each change.`,
		Example: `  snowraft seq get orders
  snowraft seq get orders -o json
  snowraft seq get orders --local`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: args[0], Local: local})
		if err != nil {
			return err
		}
		blocks := []cli.Block{record(resp.GetSequence())}
		if len(resp.GetSequence().GetEndedPeriods()) > 0 {
			blocks = append(blocks, endedPeriods(resp.GetSequence()))
		}
		return out.Answer(resp, blocks...)
	})
	cmd.Flags().BoolVar(&local, "local", false, "show what the answering member knows, which needs no leader")
	return cmd
}
