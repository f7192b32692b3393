package seq

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	modePrefix  = "SEQUENCE_MODE_"
	resetPrefix = "SEQUENCE_RESET_"
)

// sequenceDoc is a sequence as it is printed: what was left to the defaults is filled in.
type sequenceDoc struct {
	Name          string `json:"name"`
	Mode          string `json:"mode"`
	Start         int64  `json:"start,string"`
	Increment     int64  `json:"increment,string"`
	Min           int64  `json:"min,string"`
	Max           int64  `json:"max,string"`
	BlockDuration string `json:"block_duration"`
	MinBlock      uint64 `json:"min_block,string"`
	MaxBlock      uint64 `json:"max_block,string"`
	Reset         string `json:"reset"`
	TimeZone      string `json:"time_zone"`
	Format        string `json:"format"`
	Description   string `json:"description"`
	Created       string `json:"created"`
	Generation    uint64 `json:"generation,string"`
	Period        string `json:"period"`      // its first day; empty without a reset
	Next          *int64 `json:"next,string"` // null when no number is left
	Remaining     uint64 `json:"remaining,string"`
}

func newSequenceDoc(s *snowraftv1.Sequence) sequenceDoc {
	increment, start := or(s.Increment, 1), int64(1)
	if increment < 0 {
		start = -1
	}
	start = or(s.Start, start)
	// A bound that is absent is start against the direction of the increment.
	lowest, highest := start, int64(math.MaxInt64)
	if increment < 0 {
		lowest, highest = math.MinInt64, start
	}
	return sequenceDoc{
		Name: s.GetName(), Mode: cmp.Or(cli.EnumName(s.GetMode().String(), modePrefix), defaultMode),
		Start: start, Increment: increment, Min: or(s.Min, lowest), Max: or(s.Max, highest),
		BlockDuration: cli.Milliseconds(cmp.Or(s.GetBlockDurationMs(), limits.DefaultBlockDuration.Milliseconds())),
		MinBlock:      cmp.Or(s.GetMinBlock(), uint64(limits.DefaultMinBlock)), MaxBlock: cmp.Or(s.GetMaxBlock(), uint64(limits.DefaultMaxBlock)),
		Reset: cmp.Or(cli.EnumName(s.GetReset_().String(), resetPrefix), defaultReset), TimeZone: cmp.Or(s.GetTimeZone(), defaultTimeZone),
		Format: s.GetFormat(), Description: s.GetDescription(),
		Created: cli.StampKnown(s.GetCreatedAtMs()), Generation: s.GetGeneration(), Period: s.GetPeriod(),
		Next: s.Next, Remaining: s.GetRemaining(),
	}
}

// or returns the number, or the default where none is given.
func or(number *int64, byDefault int64) int64 {
	if number == nil {
		return byDefault
	}
	return *number
}

// next is the first number that was not granted; empty when none is left.
func (d sequenceDoc) next() string {
	if d.Next == nil {
		return ""
	}
	return fmt.Sprint(*d.Next)
}

// record shows everything about a sequence.
func (d sequenceDoc) record() cli.Block {
	next, period, blocks := d.next(), "", ""
	if next == "" {
		next = "none is left"
	}
	if d.Period != "" {
		period = "since " + d.Period
	}
	if d.Mode == defaultMode {
		blocks = fmt.Sprintf("of %s, %d to %d numbers", d.BlockDuration, d.MinBlock, d.MaxBlock)
	}
	return cli.Record(
		"Name", d.Name,
		"Description", d.Description,
		"Mode", d.Mode,
		"Next", next,
		"Remaining", d.Remaining,
		"Start", d.Start,
		"Increment", d.Increment,
		"Range", fmt.Sprintf("%d to %d", d.Min, d.Max),
		"Reset", d.Reset,
		"Period", period,
		"Time zone", d.TimeZone,
		"Format", d.Format,
		"Blocks", blocks,
		"Created", d.Created,
		"Generation", d.Generation,
	)
}

func newGet(a *cli.App) *cobra.Command {
	return client(a, &cobra.Command{
		Use:   "get NAME",
		Short: "Show a sequence",
		Long: `Show a sequence, as the answering member knows it.

Next is the first number that is not granted. Members are granted blocks of numbers, so
Next is usually greater than the next number to be issued (see "snowraft seq last").
Remaining counts the numbers left in this period. The generation grows with each change.`,
		Example: `  snowraft seq get orders
  snowraft seq get orders -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: args[0]})
		if err != nil {
			return err
		}
		d := newSequenceDoc(resp.GetSequence())
		return out.Answer(d, d.record())
	})
}

func newList(a *cli.App) *cobra.Command {
	var prefix string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sequences",
		Long: `List the sequences of the cluster by name: all, or those whose names begin with --prefix.
NEXT is the first number that is not granted. REMAINING counts the numbers left in this
period.`,
		Example: `  snowraft seq list
  snowraft seq list --prefix shop/ -o json`,
	}
	flag := cli.AddFlag(cmd, "", "prefix", "", cli.WordsValue(&prefix, "TEXT"), "beginning of the names to list")
	cmd = a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		sequences, err := cli.List(newSequenceDoc, func(token string) ([]*snowraftv1.Sequence, string, error) {
			resp, err := r.Sequences.ListSequences(ctx, &snowraftv1.ListSequencesRequest{PageSize: cli.PageSize, PageToken: token, Prefix: prefix})
			return resp.GetSequences(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		heading := []string{"NAME", "MODE", "NEXT", "INCREMENT", "REMAINING", "RESET", "PERIOD", "FORMAT", "DESCRIPTION"}
		return out.Answer(map[string]any{"sequences": sequences}, cli.Table(sequences, heading, func(d sequenceDoc) []any {
			return []any{d.Name, d.Mode, d.next(), d.Increment, d.Remaining, d.Reset, d.Period, d.Format, d.Description}
		}))
	})
	completeFlag(a, cmd, flag.Name)
	return cmd
}
