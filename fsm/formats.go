package fsm

import (
	"slices"
	"unicode/utf8"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	// MaxFormats is the greatest number of earlier formats of a name with which its format can still be changed. A deletion
	// adds one more.
	MaxFormats = 64
	// maxAllFormats is the greatest number of earlier formats of all names with which a format can still be changed.
	maxAllFormats = 1 << 21
	// maxReadFormats is the greatest number of earlier formats of a name in a snapshot: a merge keeps those of several states.
	maxReadFormats = 1024
)

// Written is a format in which numbers of a name may be written.
type Written struct {
	Format     string // empty: decimals
	YearStarts uint32 // see commandv1.SequenceSpec
}

// formats holds the earlier formats of a name; see left. It is never changed, only replaced.
type formats struct {
	earlier []Written
	stated  bool // an operator of this restored cluster stated those since the backup
}

func (s *sequenceSpec) written() Written { return Written{s.format, uint32(s.yearStarts)} }

// left returns the earlier formats of a live sequence that gets another format, or none. It keeps this invariant from
// [DocumentVersion] on: each format that a name had is the present one or an earlier one. So the proposer can compare a new format
// with all of them. A format in which this cluster wrote nothing counts, because a backup may have it: after a restore, numbers
// are written in it that follow those of later formats.
//
// A restored cluster does not know the formats of the earlier one since the backup, until its operator states them.
func (q *sequence) left() []Written { return joinFormats(q.earlier(), []Written{q.spec.written()}) }

// earlier returns the earlier formats, which must not be changed. A nil sequence has none.
func (q *sequence) earlier() []Written {
	if q == nil || q.formats == nil {
		return nil
	}
	return q.formats.earlier
}

// setEarlier sets the earlier formats.
func (q *sequence) setEarlier(all []Written) { q.setFormats(all, q.formatsStated()) }

// formatsStated reports whether an operator of this restored cluster stated the formats of the name since the backup.
func (q *sequence) formatsStated() bool { return q.formats != nil && q.formats.stated }

func (q *sequence) setFormats(earlier []Written, stated bool) {
	if q.formats = nil; len(earlier) > 0 || stated {
		q.formats = &formats{earlier, stated}
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
	if refused := s.roomForFormats(old, all); refused != nil {
		return refused
	}
	q.setEarlier(all)
	return nil
}

// stateFormats adds formats that the earlier cluster gave the name after the backup, by the operator's word. From now on, all formats
// of the name are known.
func (s *State) stateFormats(q *sequence, given []string) *Refused {
	if s.restored == nil {
		return invalid("formats: this cluster was not restored, so it knows all formats of sequence %q", q.name)
	}
	if n := len(given); n > MaxFormats {
		return invalid("%d formats: expected at most %d", n, MaxFormats)
	}
	all := q.earlier()
	for _, format := range given {
		if n := len(format); n < 1 || n > maxFormatBytes || !utf8.ValidString(format) {
			return invalid("format of %d bytes: expected 1 to %d bytes of UTF-8", n, maxFormatBytes)
		}
		all = joinFormats(all, []Written{{format, uint32(q.spec.yearStarts)}})
	}
	if refused := s.roomForFormats(q, all); refused != nil {
		return refused
	}
	q.setFormats(all, true)
	return nil
}

// roomForFormats refuses more earlier formats of a sequence than it or the state can have.
func (s *State) roomForFormats(q *sequence, all []Written) *Refused {
	if more := len(all) - len(q.earlier()); more == 0 || len(all) <= MaxFormats && s.sequences.formats+more <= s.maxAllFormats {
		return nil
	}
	return refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED,
		"sequence %q: limit of %d earlier formats of a sequence, or of %d of all sequences, reached; keep the format, or use another sequence", q.name, MaxFormats, s.maxAllFormats)
}

// formatted reports whether the name had any format but decimals.
func (q *sequence) formatted() bool {
	return slices.ContainsFunc(q.earlier(), func(w Written) bool { return w.Format != "" })
}

// Formats returns the earlier formats of the name, as far as they are remembered: changes before [DocumentVersion] are not. Those of a deleted sequence have its last format. The caller must not change them.
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
