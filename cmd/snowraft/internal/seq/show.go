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

// next returns the first number that was not granted; empty if no number is left.
func next(s *snowraftv1.Sequence) string {
	if s.Next == nil {
		return ""
	}
	return strconv.FormatInt(s.GetNext(), 10)
}

// frozen returns advice about a frozen sequence; empty for other sequences.
func frozen(s *snowraftv1.Sequence) string {
	if !s.GetFrozen() {
		return ""
	}
	return `yes, by a restore; see "snowraft seq resume"`
}

// record returns a block with all fields of a sequence.
func record(s *snowraftv1.Sequence) cli.Block {
	period, blocks := "", ""
	if s.GetPeriod() != "" {
		period = "since " + s.GetPeriod()
	}
	if s.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED {
		blocks = fmt.Sprintf("of %s, %d to %d numbers", cli.Milliseconds(s.GetBlockDurationMs()), s.GetMinBlock(), s.GetMaxBlock())
	}
	return cli.Record(
		"Name", s.GetName(),
		"Description", s.GetDescription(),
		"Mode", cli.Word(s.GetMode()),
		"Next grant", cmp.Or(next(s), "none is left"),
		"Remaining", s.GetRemaining(),
		"Start", s.GetStart(),
		"Increment", s.GetIncrement(),
		"Range", fmt.Sprintf("%d to %d", s.GetMin(), s.GetMax()),
		"Reset", cli.Word(s.GetReset_()),
		"Period", period,
		"Time zone", cmp.Or(s.GetTimeZone(), defaultTimeZone),
		"Format", s.GetFormat(),
		"Blocks", blocks,
		"Created", cli.StampKnown(s.GetCreatedAtMs()),
		"Generation", s.GetGeneration(),
		"Frozen", frozen(s),
	)
}

func newGet(a *cli.App) *cobra.Command {
	var local bool
	cmd := client(a, &cobra.Command{
		Use:   "get NAME",
		Short: "Show a sequence",
		Long: `Show a sequence, as the leader knows it. Without a leader, --local shows what the
answering member knows, which may be behind.

The next grant begins at the first number that is not granted. Members are granted blocks
of numbers, so callers usually get lower numbers first (see "snowraft seq last").
Remaining counts the numbers left in this period. The generation grows with each change.`,
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
