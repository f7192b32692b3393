package seq

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Defaults of a sequence. In the API, 0 and "" stand for them.
const (
	defaultMode       = "strict"
	defaultReset      = "none"
	defaultYearStarts = "01-01"
	defaultTimeZone   = "UTC"
)

// someTimeZones lists the names that shells offer. Every other IANA name is valid too.
var someTimeZones = []string{
	"UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "America/Chicago", "America/Denver", "America/Los_Angeles",
	"America/Mexico_City", "America/New_York", "America/Sao_Paulo", "Asia/Dubai", "Asia/Kolkata", "Asia/Shanghai", "Asia/Singapore",
	"Asia/Tokyo", "Australia/Sydney", "Europe/Berlin", "Europe/Istanbul", "Europe/London", "Europe/Paris", "Pacific/Auckland",
}

// someYearStarts lists the days that shells offer. Every other day of 01 to 28 of a month is valid too.
var someYearStarts = []string{"01-01", "04-01", "04-06", "07-01", "10-01"}

// SpecFlags are the flags that describe a sequence or its changes.
type SpecFlags struct {
	start, increment, min, max    *int64 // nil is the default
	mode, reset                   string
	blockDuration, late           time.Duration
	minBlock, maxBlock            uint64
	yearStarts                    string
	timeZone, format, description string
	reuse                         bool
}

// AddSpecFlags adds the flags that describe a sequence. The flags of an update
// show no defaults, because an update keeps the fields that are not given.
func AddSpecFlags(cmd *cobra.Command, update bool) *SpecFlags {
	f := &SpecFlags{
		mode: defaultMode, blockDuration: limits.DefaultBlockDuration, minBlock: limits.DefaultMinBlock, maxBlock: limits.DefaultMaxBlock,
		reset: defaultReset, yearStarts: defaultYearStarts, timeZone: defaultTimeZone,
	}
	cmd.Flags().SortFlags = false
	add := func(name string, v *cli.Value, help string) *pflag.Flag {
		flag := cli.AddFlag(cmd, "", name, "", v, help)
		if update {
			flag.DefValue = ""
		}
		return flag
	}
	zone := cli.FreeTextValue(&f.timeZone, "ZONE")
	zone.Among = someTimeZones
	starts := cli.FreeTextValue(&f.yearStarts, "MM-DD")
	starts.Among = someYearStarts
	add("mode", cli.ChoiceValue(&f.mode, apijson.Words[snowraftv1.SequenceMode]()...), "strict: the leader issues numbers in one order; relaxed: faster, members issue them from blocks in memory; gapless: each number is reserved, and accounted for")
	add("start", cli.NumberValue(&f.start), "first number of each period (default: 1, or -1 with a negative increment)")
	add("increment", cli.NumberValue(&f.increment), "difference of consecutive numbers, not 0 (default: 1)")
	add("min", cli.NumberValue(&f.min), "least number (default: --start, or no limit with a negative increment)")
	add("max", cli.NumberValue(&f.max), "greatest number (default: no limit, or --start with a negative increment)")
	add("reset", cli.ChoiceValue(&f.reset, apijson.Words[snowraftv1.SequenceReset]()...), "period after which numbers restart at --start")
	add("year-starts", starts, "day, 01 to 28 of a month, on which years and their quarters start, for resets and for {fy} and {quarter} in the format")
	add("late", cli.DaysValue(&f.late, limits.MinLate, limits.MaxLate), "time after a period in which its numbers are still issued, such as 45d; 0 for none").DefValue = ""
	add("time-zone", zone, "IANA time zone of periods and of dates in the format")
	add("format", cli.FreeTextValue(&f.format, "FORMAT"), "format of numbers, such as ORD{date:yyyyMMdd}{seq:06}; empty means decimal")
	add("description", cli.FreeTextValue(&f.description, "TEXT"), "purpose of the sequence")
	add("block-duration", cli.DurationValue(&f.blockDuration, limits.MinBlockDuration, limits.MaxBlockDuration), "time that a member should need to use up a block")
	add("min-block", cli.UintValue(&f.minBlock, 1), "size of the smallest block")
	add("max-block", cli.UintValue(&f.maxBlock, 1), "size of the largest block, at most 100000000")
	cmd.Flags().BoolVar(&f.reuse, "reuse", false, "let a gapless sequence reserve numbers again that were void and never committed")
	return f
}

// Sequence returns a sequence with the given fields, and the names of these fields
// for an update mask.
func (f *SpecFlags) Sequence(name string, flags *pflag.FlagSet) (s *snowraftv1.Sequence, mask []string) {
	s = &snowraftv1.Sequence{Name: name}
	for _, field := range []struct {
		flag, path string
		set        func()
	}{
		{"mode", "mode", func() { s.Mode, _ = apijson.Parse[snowraftv1.SequenceMode](f.mode) }},
		{"start", "start", func() { s.Start = f.start }},
		{"increment", "increment", func() { s.Increment = f.increment }},
		{"min", "min", func() { s.Min = f.min }},
		{"max", "max", func() { s.Max = f.max }},
		{"reset", "reset", func() { s.Reset_, _ = apijson.Parse[snowraftv1.SequenceReset](f.reset) }},
		{"year-starts", "year_starts", func() { s.YearStarts = f.yearStarts }},
		{"late", "late_ms", func() { s.LateMs = f.late.Milliseconds() }},
		{"time-zone", "time_zone", func() { s.TimeZone = f.timeZone }},
		{"format", "format", func() { s.Format = f.format }},
		{"description", "description", func() { s.Description = f.description }},
		{"block-duration", "block_duration_ms", func() { s.BlockDurationMs = f.blockDuration.Milliseconds() }},
		{"min-block", "min_block", func() { s.MinBlock = f.minBlock }},
		{"max-block", "max_block", func() { s.MaxBlock = f.maxBlock }},
		{"reuse", "reuse", func() { s.Reuse = f.reuse }},
	} {
		if flags.Changed(field.flag) {
			field.set()
			mask = append(mask, field.path)
		}
	}
	return s, mask
}

func newCreate(a *cli.App) *cobra.Command {
	var force, forceFormat bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a sequence",
		Long: `Create a sequence. Creating an identical sequence again succeeds and changes nothing.
Creating a different one under an existing name fails.

A sequence is strict by default: each number is greater than all numbers that any member
returned before. If unique numbers are enough, --mode relaxed is faster and works without
quorum for a while. A relaxed sequence can become strict later, but the numbers that it
issued before stay out of order. If every number must be accounted for, like those of
invoices, use --mode gapless: see "snowraft seq reserve".

The cluster remembers which numbers a deleted sequence issued. Creating a sequence that
would repeat them under the same name fails, unless --force is given. Instead, choose a
--start beyond them.

With a --reset, a --format must distinguish all periods by its dates: {date:yyyy} with a
yearly reset, {weekyear}{week} with a weekly one, and {fy} if --year-starts moves the
years. --force-format accepts another format, whose texts then repeat. It permits no
repeated number.

With --late, the numbers of a period can still be requested for that time after its end:
see "snowraft seq next --help".

A name has 1 to 128 bytes of printable UTF-8 in Unicode normalization form C (NFC),
without spaces. Case matters. Names that begin with $ are reserved.`,
		Example: `  snowraft seq create orders
  snowraft seq create parcels --mode relaxed
  snowraft seq create invoices --reset yearly --time-zone Europe/Berlin \
    --format 'INV-{date:yyyy}-{seq:06}'
  snowraft seq create bills --reset yearly --year-starts 04-01 \
    --format 'B/{fy:yyyy-yy}/{seq:05}'
  snowraft seq create receipts --reset monthly --late 45d \
    --format '{date:yyyyMM}-{seq:05}'
  snowraft seq create invoices-2026 --mode gapless --reset yearly \
    --format 'R-{date:yyyy}-{seq:05}'
  snowraft seq create shop/east --start 1 --increment 2
  snowraft seq create countdown --start 10 --increment -1 --min 0`,
		Args: newArgs,
	}
	f := AddSpecFlags(cmd, false)
	cmd.Flags().BoolVar(&force, "force", false, "create the sequence even if it repeats numbers of a deleted sequence")
	cmd.Flags().BoolVar(&forceFormat, "force-format", false, "create the sequence even if its texts repeat in each period")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		spec, _ := f.Sequence(args[0], cmd.Flags())
		resp, err := r.Sequences.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: spec, Force: force, ForceFormat: forceFormat})
		if err != nil {
			return err
		}
		if resp.GetExisted() {
			return out.Answer(resp, cli.Line("sequence %q exists, unchanged", args[0]))
		}
		return printChanged(a, out, "created", resp, "they may not know the sequence yet")
	})
}

func newUpdate(a *cli.App) *cobra.Command {
	var force, forceFormat bool
	cmd := &cobra.Command{
		Use:   "update NAME",
		Short: "Change a sequence",
		Long: `Change a sequence. Settings that are not given keep their values. An empty --format or
--description removes it, and an empty --time-zone means UTC. The word default resets
--start, --increment, --min and --max.

The command waits until all live members know the change and have dropped the blocks
that they hold, which leaves gaps. A new --description alone drops no block. A change after which numbers may repeat fails,
unless --force is given: for example, an increment of the opposite sign, or a new
--reset or --year-starts after numbers were granted. A format after which texts may repeat needs
--force-format.

--late 0 closes all earlier periods permanently. A longer time has an effect on periods that
have not closed. If numbers could not be late before, periods that began earlier stay
unknown.

Lowering --max, or raising --min of a descending sequence, can leave no number: the
next number comes after the dropped blocks, and may lie beyond the new bound. "snowraft
seq get" shows the next number.`,
		Example: `  snowraft seq update orders --format 'ORD{seq:08}'
  snowraft seq update orders --mode strict --description shop
  snowraft seq update orders --max default --if-generation 17`,
	}
	f := AddSpecFlags(cmd, true)
	cmd.Flags().BoolVar(&force, "force", false, "change the sequence even if numbers repeat")
	cmd.Flags().BoolVar(&forceFormat, "force-format", false, "change the format even if texts repeat")
	generation := cli.AddGenerationFlag(cmd, "sequence")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		spec, mask := f.Sequence(args[0], cmd.Flags())
		if len(mask) == 0 {
			return cli.Usagef("seq update: missing setting; set at least one flag such as --format or --max")
		}
		resp, err := r.Sequences.UpdateSequence(ctx, &snowraftv1.UpdateSequenceRequest{
			Sequence: spec, UpdateMask: &fieldmaskpb.FieldMask{Paths: mask}, Force: force, ForceFormat: forceFormat, ExpectedGeneration: generation(),
		})
		if err != nil {
			return err
		}
		return printChanged(a, out, "changed", resp, oldBlocks)
	})
}
