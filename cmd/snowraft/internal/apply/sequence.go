package apply

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/api"
)

// startKey is the setting with the first number of a sequence.
const startKey = "start"

// sequenceSettings lists the settings of a sequence.
var sequenceSettings = []setting[*snowraftv1.Sequence]{
	{"mode", "mode", "Order of the numbers: strict (the default), relaxed or gapless.", isText, func(m *snowraftv1.Sequence) *cli.Value { return wordOf(&m.Mode) }},
	{startKey, "start", "First number of each period. The default is 1, or -1 with a negative increment. A sequence that exists keeps its start if the file has none.", isNumber,
		func(m *snowraftv1.Sequence) *cli.Value { return wholeOf(&m.Start) }},
	{"increment", "increment", "Difference of consecutive numbers, not 0. The default is 1.", isNumber, func(m *snowraftv1.Sequence) *cli.Value { return wholeOf(&m.Increment) }},
	{"min", "min", "Least number. The default is the start, or no limit with a negative increment.", isNumber, func(m *snowraftv1.Sequence) *cli.Value { return wholeOf(&m.Min) }},
	{"max", "max", "Greatest number. Default: no limit, or the start with a negative increment.", isNumber, func(m *snowraftv1.Sequence) *cli.Value { return wholeOf(&m.Max) }},
	{"reset", "reset", "Period after which numbers restart at the start.", isText, func(m *snowraftv1.Sequence) *cli.Value { return wordOf(&m.Reset_) }},
	{"year-starts", "year_starts", "Day on which years start, such as 04-01. The default is 01-01.", isText, func(m *snowraftv1.Sequence) *cli.Value { return cli.FreeTextValue(&m.YearStarts, "MM-DD") }},
	{"late", "late_ms", "Time after a period in which its numbers are still issued, such as 45d; 0 for none.", isEither, func(m *snowraftv1.Sequence) *cli.Value { return daysOf(&m.LateMs, limits.MinLate, limits.MaxLate) }},
	{"time-zone", "time_zone", "IANA time zone of periods and of dates in the format. The default is UTC.", isText, func(m *snowraftv1.Sequence) *cli.Value { return cli.FreeTextValue(&m.TimeZone, "ZONE") }},
	{"format", "format", "Format of the numbers, such as ORD{date:yyyyMMdd}{seq:06}. Quote it if it begins with a brace.", isText, func(m *snowraftv1.Sequence) *cli.Value { return cli.FreeTextValue(&m.Format, "FORMAT") }},
	{"description", "description", "Purpose of the sequence.", isText, func(m *snowraftv1.Sequence) *cli.Value { return cli.FreeTextValue(&m.Description, "TEXT") }},
	{"block-duration", "block_duration_ms", "Time that a member should need to use up a block, such as 10s.", isText, func(m *snowraftv1.Sequence) *cli.Value {
		return millisOf(&m.BlockDurationMs, limits.MinBlockDuration, limits.MaxBlockDuration)
	}},
	{"min-block", "min_block", "Size of the smallest block.", isNumber, func(m *snowraftv1.Sequence) *cli.Value { return cli.UintValue(&m.MinBlock, 1) }},
	{"max-block", "max_block", "Size of the largest block, at most 100000000.", isNumber, func(m *snowraftv1.Sequence) *cli.Value { return cli.UintValue(&m.MaxBlock, 1) }},
	{"reuse", "reuse", "Let a gapless sequence reserve numbers again that were void and never committed.", isSwitch, func(m *snowraftv1.Sequence) *cli.Value { return cli.SwitchValue(&m.Reuse) }},
}

// sequences are the sequences that did not begin with a template.
type sequences struct{ *cli.Remote }

func (sequences) settings() []setting[*snowraftv1.Sequence] { return sequenceSettings }
func (sequences) fresh(name string) *snowraftv1.Sequence    { return &snowraftv1.Sequence{Name: name} }
func (sequences) numerous() bool                            { return true }
func (sequences) name(m *snowraftv1.Sequence) string        { return m.GetName() }
func (sequences) kept(m *snowraftv1.Sequence) bool          { return m.GetTemplate() != "" }
func (sequences) omitted(m *snowraftv1.Sequence) bool       { return m.GetTemplate() != "" }

func (k sequences) section() section {
	return section{key: "sequences", about: "Sequences by name.", named: true, keys: keys(sequenceSettings, func() *snowraftv1.Sequence { return &snowraftv1.Sequence{} })}
}

func (k sequences) list(ctx context.Context) ([]*snowraftv1.Sequence, error) {
	return cli.List(func(token string) ([]*snowraftv1.Sequence, string, error) {
		resp, err := k.Sequences.ListSequences(ctx, &snowraftv1.ListSequencesRequest{PageSize: cli.PageSize, PageToken: token})
		return resp.GetSequences(), resp.GetNextPageToken(), err
	})
}

func (k sequences) find(ctx context.Context, name string) (*snowraftv1.Sequence, error) {
	resp, err := k.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: name})
	return resp.GetSequence(), err
}

func (sequences) complete(_ object, m *snowraftv1.Sequence) (*snowraftv1.Sequence, error) {
	return api.CompleteSequence(m)
}

func (k sequences) want(p *planner, o object, asked, was *snowraftv1.Sequence, exists bool) (*snowraftv1.Sequence, string) {
	if refusal := p.decideStart(o, asked, was, exists); refusal != "" {
		return asked, refusal
	}
	m, err := k.complete(o, asked)
	switch {
	case err != nil:
		return asked, rpc.Message(err)
	case exists:
		return m, rewinds(m, was)
	}
	if err := api.CheckSequence(asked); err != nil {
		return m, rpc.Message(err)
	}
	return m, ""
}

// rewinds refuses another start that would move a sequence back that has issued nothing yet: it may have been created to
// continue another system's numbers.
func rewinds(m, was *snowraftv1.Sequence) string {
	unused := was.Last == nil && was.LastAtMost == nil && was.Next != nil && was.GetNext() == was.GetStart()
	back := m.GetStart() < was.GetStart()
	if was.GetIncrement() < 0 {
		back = m.GetStart() > was.GetStart()
	}
	if !unused || !back {
		return ""
	}
	return fmt.Sprintf("start: the next number would move back from %d to %d, and numbers between them may have been issued elsewhere; "+
		"keep the start, or use \"snowraft seq update --start\"", was.GetStart(), m.GetStart())
}

func (k sequences) create(ctx context.Context, m *snowraftv1.Sequence) ([]string, error) {
	resp, err := k.Sequences.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: m})
	return resp.GetUnreachedMembers(), err
}

func (k sequences) update(ctx context.Context, m, was *snowraftv1.Sequence, fields []string) ([]string, error) {
	resp, err := k.Sequences.UpdateSequence(ctx, &snowraftv1.UpdateSequenceRequest{
		Sequence: m, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields}, ExpectedGeneration: new(was.GetGeneration()),
	})
	return resp.GetUnreachedMembers(), err
}

func (k sequences) remove(ctx context.Context, m *snowraftv1.Sequence) ([]string, error) {
	resp, err := k.Sequences.DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: m.GetName(), ExpectedGeneration: new(m.GetGeneration())})
	return resp.GetUnreachedMembers(), err
}
