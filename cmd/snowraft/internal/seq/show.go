package seq

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

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

// ended returns the periods that ended and are still open; empty if there are none.
func ended(s *snowraftv1.Sequence) string {
	var all []string
	for _, e := range s.GetEndedPeriods() {
		text := e.GetPeriod() + ": next " + cmp.Or(number(e.Next), "none is left")
		if e.GetFrozen() {
			text += ", frozen"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// record returns a block with all fields of a sequence.
func record(s *snowraftv1.Sequence) cli.Block {
	gapless := s.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS
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
		"Ended periods", ended(s),
		"Time zone", cmp.Or(s.GetTimeZone(), defaultTimeZone),
		"Format", s.GetFormat(),
		"Template", s.GetTemplate(),
		"Blocks", cli.TextIf(relaxed, "of %s, %d to %d numbers", cli.Milliseconds(s.GetBlockDurationMs()), s.GetMinBlock(), s.GetMaxBlock()),
		"Reuse", cli.TextIf(s.GetReuse(), "numbers that were never committed"),
		"Open", cli.TextIf(gapless, "%d%s", s.GetOpenReservations(), cli.TextIf(s.GetOldestOpenAtMs() != 0, ", the oldest since %s", cli.Stamp(s.GetOldestOpenAtMs()))),
		"Unknown", cli.TextIf(s.GetUnknownNumbers() > 0, `%d, by a restore; see "snowraft seq resolve"`, s.GetUnknownNumbers()),
		"Created", cli.StampKnown(s.GetCreatedAtMs()),
		"Generation", s.GetGeneration(),
		"Frozen", cli.TextIf(s.GetFrozen(), `yes, by a restore; see "snowraft seq resume"`),
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
		return out.Answer(resp, record(resp.GetSequence()))
	})
	cmd.Flags().BoolVar(&local, "local", false, "show what the answering member knows, which needs no leader")
	return cmd
}
