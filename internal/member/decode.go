package member

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/sequence"
)

// Decoded is the content of a text of a sequence.
type Decoded struct {
	Number   int64
	Period   sequence.Period // 0 without a reset, and if the dates in the text do not name a period
	Format   string          // the format that writes the text; empty for decimals
	Granting fsm.Granting
	Deleted  bool // the sequence was deleted
}

// DecodeText returns the number of a text that a format of a sequence wrote, which may be a deleted one; only the leader can. The
// error is a [sequence.ErrInvalidText] if no format of the sequence writes the text.
func (m *Member) DecodeText(ctx context.Context, name, text string) (Decoded, error) {
	if text == "" || len(text) > limits.TextBytes {
		return Decoded{}, fmt.Errorf("%w: text of %d bytes: expected 1 to %d bytes", allocator.ErrInvalidArgument, len(text), limits.TextBytes)
	}
	s, ok, err := atLeader(ctx, m, m.remembered, name)
	switch {
	case err != nil:
		return Decoded{}, err
	case !ok:
		return Decoded{}, m.unknownSequence(ctx, name)
	}
	if s.Deleted && !s.Coded {
		return Decoded{}, fmt.Errorf("%w: sequence %q was deleted, and its format is not remembered", allocator.ErrInvalidArgument, name)
	}
	d, err := m.define(s)
	if err != nil {
		return Decoded{}, err
	}
	read, known, err := d.read(text, m.clock.Now().Wall)
	if err != nil {
		return Decoded{}, err
	}
	read.Format, read.Deleted = s.Spec.GetFormat(), s.Deleted
	if known {
		m.fsm.View(func(s *fsm.State) { read.Granting = s.Granting(name, int32(read.Period), read.Number) })
	}
	return read, nil
}

// remembered returns a sequence of this member's replica, even a deleted one.
func (m *Member) remembered(name string) (s fsm.Sequence, ok bool) {
	m.fsm.View(func(state *fsm.State) { s, ok = state.Remembered(name) })
	return s, ok
}

// decimals is the format of sequences without one.
var decimals = func() *sequence.Format {
	f, err := sequence.ParseFormat("{seq}")
	if err != nil {
		panic(err)
	}
	return f
}()

// read reads a text. known is false if the dates in it do not name a period. now is in Unix milliseconds.
func (d *definition) read(text string, now int64) (read Decoded, known bool, err error) {
	format := cmp.Or(d.format, decimals)
	written, err := format.Parse(text)
	if err != nil {
		return Decoded{}, false, err
	}
	period, known, err := written.Period(d.calendar, time.UnixMilli(now).In(d.location))
	return Decoded{Number: written.Number, Period: period}, known, err
}
