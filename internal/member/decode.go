package member

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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

	dated bool // Period is known
}

// DecodeText returns the number of a text that the format of a sequence wrote, or an earlier format of its name. The sequence may be
// a deleted one. Only the leader can. The error is a [sequence.ErrInvalidText] if no format of the sequence writes the text.
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
	d, err := m.define(s)
	if err != nil {
		return Decoded{}, err
	}
	read, err := m.readText(s, d, text)
	if err == nil && read.dated {
		m.fsm.View(func(state *fsm.State) { read.Granting = state.Granting(name, int32(read.Period), read.Number) })
	}
	return read, err
}

// remembered returns a sequence of this member's replica, even a deleted one.
func (m *Member) remembered(name string) (s fsm.Sequence, ok bool) {
	m.fsm.View(func(state *fsm.State) { s, ok = state.Remembered(name) })
	return s, ok
}

// readText reads a text with each format of a sequence. The error is that of the present format, if no format writes the text.
func (m *Member) readText(s fsm.Sequence, d *definition, text string) (Decoded, error) {
	var all []Decoded // one for each number
	var failed error
	read := func(f *sequence.Format) {
		r, err := d.read(f, text, m.clock.Now().Wall)
		if failed = cmp.Or(failed, err); err == nil && !slices.ContainsFunc(all, func(o Decoded) bool { return o.Number == r.Number && o.Period == r.Period }) {
			all = append(all, r)
		}
	}
	if !s.Deleted {
		read(d.format)
	}
	for _, w := range s.Formats() {
		f, err := earlierFormat(s, w)
		if err == nil && codesOf(f) != nil && !s.Coded {
			continue // an operator stated the format, and the key of its codes is lost
		}
		if err == nil {
			f, err = m.keyed(f, s.Spec.GetName())
		}
		if err != nil {
			return Decoded{}, err
		}
		read(f)
	}
	switch {
	case len(all) > 1:
		return Decoded{}, fmt.Errorf("%w: %q is the text of several numbers, because a format was set with force_format", sequence.ErrInvalidText, text)
	case len(all) == 1:
		all[0].Deleted = s.Deleted
		return all[0], nil
	case failed == nil:
		return Decoded{}, fmt.Errorf("%w: sequence %q was deleted, and no format of it is remembered", sequence.ErrInvalidText, s.Spec.GetName())
	}
	return Decoded{}, failed
}

// read reads a text with a format of the sequence, at a time in Unix milliseconds.
func (d *definition) read(f *sequence.Format, text string, now int64) (Decoded, error) {
	var r Decoded
	if f != nil {
		r.Format = f.String()
	} else {
		var err error
		if f, err = sequence.ParseFormat("{seq}"); err != nil {
			return Decoded{}, err
		}
	}
	written, err := f.Parse(text)
	if err != nil {
		return Decoded{}, err
	}
	r.Number = written.Number
	r.Period, r.dated, err = written.Period(d.calendar, time.UnixMilli(now).In(d.location))
	return r, err
}
