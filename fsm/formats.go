package fsm

import (
	"slices"
	"unicode/utf8"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	// maxFormats is the greatest number of earlier formats of a name with which its format can still be changed. A deletion
	// adds one more.
	maxFormats = 64
	// maxAllFormats is the greatest number of earlier formats of all names with which a format can still be changed.
	maxAllFormats = 1 << 21
	// maxReadFormats is the greatest number of earlier formats of a name in a snapshot: a merge keeps those of several states.
	maxReadFormats = 1024
)

// Written is a format in which numbers of a name may have been written.
type Written struct {
	Format     string // empty: decimals
	YearStarts uint32 // see commandv1.SequenceSpec
}

func (s *sequenceSpec) written() Written { return Written{s.format, uint32(s.yearStarts)} }

// left returns the earlier formats of a live sequence that gets another format, or none. It keeps this invariant from
// [DocumentVersion] on: each format in which a number of a name may have been written is the present one or an earlier one. So the
// proposer can compare a new format with all of them.
func (q *sequence) left() []Written {
	if !q.drawn() {
		return q.earlier() // nothing was written
	}
	return joinFormats(q.earlier(), []Written{q.spec.written()})
}

// earlier returns the earlier formats, which must not be changed. A nil sequence has none.
func (q *sequence) earlier() []Written {
	if q == nil || q.formats == nil {
		return nil
	}
	return *q.formats
}

// setEarlier sets the earlier formats.
func (q *sequence) setEarlier(all []Written) {
	if q.formats = nil; len(all) > 0 {
		q.formats = &all
	}
}

// joinFormats returns the formats of both lists, each once. It changes neither.
func joinFormats(a, b []Written) []Written {
	for _, w := range b {
		if !slices.Contains(a, w) {
			a = append(slices.Clip(a), w)
		}
	}
	return a
}

// changeFormat gives q the earlier formats after a change of old.
func (s *State) changeFormat(old, q *sequence) *Refused {
	if s.version < DocumentVersion || q.spec.written() == old.spec.written() {
		return nil
	}
	all := old.left()
	if more := len(all) - len(old.earlier()); len(all) > maxFormats || s.sequences.formats+more > s.maxAllFormats {
		return refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED,
			"sequence %q: limit of %d earlier formats of a sequence, or of %d of all sequences, reached; keep the format, or use another sequence", q.name, maxFormats, s.maxAllFormats)
	}
	q.setEarlier(all)
	return nil
}

// formatted reports whether numbers of the name may have been written in any format but decimals.
func (q *sequence) formatted() bool {
	return slices.ContainsFunc(q.earlier(), func(w Written) bool { return w.Format != "" })
}

// Formats returns the earlier formats in which numbers of the name may have been written, as far as they are remembered: changes
// before [DocumentVersion] are not. Those of a deleted sequence have its last format. The caller must not change them.
func (s Sequence) Formats() []Written { return (&sequence{formats: s.formats}).earlier() }

func formatMessages(all []Written) (messages []*commandv1.SnapshotFormat) {
	for _, w := range all {
		messages = append(messages, &commandv1.SnapshotFormat{Format: w.Format, YearStarts: w.YearStarts})
	}
	return messages
}

// formatsOf is the inverse of formatMessages.
func (r *snapshotDecoder) formatsOf(m *commandv1.SnapshotSequence) (all []Written, err error) {
	name := m.GetSpec().GetName()
	if n := len(m.GetFormats()); n > maxReadFormats || n > 0 && r.state.version < DocumentVersion {
		return nil, corrupt("sequence %q has %d earlier formats", name, n)
	}
	for _, f := range m.GetFormats() {
		w := Written{f.GetFormat(), f.GetYearStarts()}
		if len(w.Format) > maxFormatBytes || !utf8.ValidString(w.Format) || w.YearStarts > 1231 || slices.Contains(all, w) {
			return nil, corrupt("sequence %q has an unknown earlier format, or one twice", name)
		}
		all = append(all, w)
	}
	return all, nil
}
