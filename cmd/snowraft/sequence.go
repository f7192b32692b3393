package main

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	sequenceModePrefix  = "SEQUENCE_MODE_"
	sequenceResetPrefix = "SEQUENCE_RESET_"
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
	d := sequenceDoc{
		Name: s.GetName(), Mode: cmp.Or(enumName(s.GetMode().String(), sequenceModePrefix), defaultMode),
		Start: 1, Increment: 1, Min: math.MinInt64, Max: math.MaxInt64,
		BlockDuration: milliseconds(cmp.Or(s.GetBlockDurationMs(), limits.DefaultBlockDuration.Milliseconds())),
		MinBlock:      cmp.Or(s.GetMinBlock(), uint64(limits.DefaultMinBlock)), MaxBlock: cmp.Or(s.GetMaxBlock(), uint64(limits.DefaultMaxBlock)),
		Reset: cmp.Or(enumName(s.GetReset_().String(), sequenceResetPrefix), defaultReset), TimeZone: cmp.Or(s.GetTimeZone(), defaultTimeZone),
		Format: s.GetFormat(), Description: s.GetDescription(),
		Created: stampKnown(s.GetCreatedMs()), Generation: s.GetGeneration(), Period: day(s.GetPeriod()),
		Next: s.Next, Remaining: s.GetRemaining(),
	}
	if s.Increment != nil {
		d.Increment = s.GetIncrement()
	}
	if d.Increment < 0 {
		d.Start = -1
	}
	if s.Start != nil {
		d.Start = s.GetStart()
	}
	// A bound that is absent is start against the direction of the increment.
	if d.Increment < 0 {
		d.Max = d.Start
	} else {
		d.Min = d.Start
	}
	if s.Min != nil {
		d.Min = s.GetMin()
	}
	if s.Max != nil {
		d.Max = s.GetMax()
	}
	return d
}

// next is the first number that was not granted; empty when none is left.
func (d sequenceDoc) next() string {
	if d.Next == nil {
		return ""
	}
	return fmt.Sprint(*d.Next)
}

// day writes a period, the decimal number yyyymmdd of its first day, as a date.
func day(period int32) string {
	if period == 0 {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", period/10000, period/100%100, period%100)
}

func (a *app) sequenceCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "seq",
		Short: "Give out plain numbers, by name",
		Long: `A sequence is a named counter: plain, small numbers, one after the other, as on
invoices. In relaxed mode every member numbers from blocks in its memory; in
strict mode the leader does, each number greater than all that were answered
before. Either way no number is given out twice.`,
		Example: `  snowraft seq create orders
  snowraft seq next orders -n 3
  snowraft seq create invoices --mode strict --reset yearly --time-zone Europe/Berlin --format 'INV-{date:yyyy}-{seq:06}'`,
	},
		a.sequenceCreateCommand(), a.sequenceGetCommand(), a.sequenceListCommand(), a.sequenceUpdateCommand(),
		a.sequenceDeleteCommand(), a.sequenceNextCommand(), a.sequenceSetCommand(), a.sequenceLastCommand())
}

func (a *app) sequenceGetCommand() *cobra.Command {
	return a.sequenceClient(&cobra.Command{
		Use:   "get NAME",
		Short: "Show a sequence",
		Long: `Shows a sequence, as the member that is asked knows it.

Next is the first number that was not granted. Blocks of numbers are granted at
once, to the members or to the leader, so that it is mostly greater than the next
number that is given out; "snowraft seq last" tells what was given out. Remaining
is how many numbers are left in this period. The generation grows with each change.`,
		Example: `  snowraft seq get orders
  snowraft seq get orders -o json`,
		Args: sequenceArguments(),
	}, func(ctx context.Context, r *remote, args []string) error {
		resp, err := r.sequences().GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: args[0]})
		if err != nil {
			return err
		}
		d := newSequenceDoc(resp.GetSequence())
		return r.out.answer(d, d.record())
	})
}

// record shows everything about a sequence.
func (d sequenceDoc) record() block {
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
	return record(
		pair{"Name", d.Name},
		pair{"Description", d.Description},
		pair{"Mode", d.Mode},
		pair{"Next", next},
		pair{"Remaining", decimal(d.Remaining)},
		pair{"Start", fmt.Sprint(d.Start)},
		pair{"Increment", fmt.Sprint(d.Increment)},
		pair{"Range", fmt.Sprintf("%d to %d", d.Min, d.Max)},
		pair{"Reset", d.Reset},
		pair{"Period", period},
		pair{"Time zone", d.TimeZone},
		pair{"Format", d.Format},
		pair{"Blocks", blocks},
		pair{"Created", d.Created},
		pair{"Generation", decimal(d.Generation)},
	)
}
