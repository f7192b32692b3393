package fsm

import (
	"cmp"
	"math"

	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func (r *snapshotDecoder) addSequence(m *commandv1.SnapshotSequence) error {
	if refused := checkSequence(m.GetSpec()); refused != nil {
		return corrupt("%w", refused)
	}
	s, name := r.state, m.GetSpec().GetName()
	if needsDocuments(m.GetSpec()) && s.version < DocumentVersion {
		return corrupt("sequence %q needs fsm_version %d, and the snapshot has %d", name, DocumentVersion, s.version)
	}
	if name <= r.sequence || s.sequences.len() >= maxSequences {
		return corrupt("sequence %q is out of order or one too many", name)
	}
	r.sequence = name
	q := &sequence{
		name: name, spec: s.sequences.shared(name, compact(m.GetSpec())), created: m.GetCreatedAtMs(),
		incarnation: m.GetIncarnation(), generation: m.GetGeneration(), numbering: cmp.Or(m.GetNumbering(), m.GetGeneration()), period: m.GetPeriod(),
		base: m.GetBase(), granted: m.GetGranted(), lastFrom: m.GetLastFrom(), lastToken: m.GetLastToken(),
		spent: m.GetSpent(),
	}
	if m.GetGeneration() < s.restored.GetIndex() {
		q.stops |= stopFrozen
	}
	if m.GetMoved() {
		q.stops |= stopMoved
	}
	l, err := lateOf(m)
	if err != nil {
		return err
	}
	q.late = l.pointer()
	c, refused := newCode(m.GetCode())
	if q.code = c; refused != nil || q.spec.code != (code{}) && q.spec.code != c || c != (code{}) && s.codeSecret == nil {
		return corrupt("sequence %q has unknown codes, or no secret for them", name)
	}
	formats, err := r.formatsOf(m)
	if err != nil {
		return err
	}
	q.setFormats(formats, m.GetFormatsStated())
	if m.GetFormatsStated() && (s.restored == nil || s.version < DocumentVersion) {
		return corrupt("sequence %q has formats that an operator stated, in a cluster that was not restored", name)
	}
	var keyed bool
	if q.lastKeyHash, keyed = hashOf(m.GetLastKeyHash()); keyed != (q.lastToken != 0) {
		return corrupt("sequence %q has a block of token %d with a key hash of %d bytes", name, q.lastToken, len(m.GetLastKeyHash()))
	}
	if (m.Low == nil) != (m.High == nil) {
		return corrupt("sequence %q has one end of a hull", name)
	}
	if m.Low != nil {
		q.used = hull{m.GetLow(), m.GetHigh(), true}
	}
	if err := q.check(); err != nil {
		return err
	}
	if q.spent && s.restored == nil {
		return corrupt("sequence %q has nothing left, in a cluster that was not restored", name)
	}
	if q.stops.moved() && s.version < DocumentVersion {
		return corrupt("sequence %q moved, which needs fsm_version %d, and the snapshot has %d", name, DocumentVersion, s.version)
	}
	if q.stops.frozen() {
		s.frozen++
	}
	if !m.GetDeleted() {
		s.sequences.put(q)
		s.noteBegun(q.spec.template, 1)
	} else if !q.buried() || !q.used.some && s.version < DocumentVersion {
		return corrupt("deleted sequence %q is not what deleting leaves", name)
	} else {
		s.sequences.putDeleted(q)
	}
	s.index = max(s.index, q.generation, q.lastToken)
	r.ledger = ledgerDecoder{owner: q, live: !m.GetDeleted()}
	return nil
}

// check checks the invariants of a sequence.
func (q *sequence) check() error {
	last, some := q.last()
	switch {
	case q.incarnation == 0 || q.numbering < q.incarnation || q.generation < q.numbering || q.lastToken != 0 && q.lastToken <= q.numbering:
		return corrupt("sequence %q of index %d was changed at %d and %d, and granted at %d", q.name, q.incarnation, q.numbering, q.generation, q.lastToken)
	case q.period != 0 && checkDate(q.period) != nil:
		return corrupt("sequence %q has %w", q.name, checkDate(q.period))
	case q.spec.resets() && q.period == 0 && q.incarnation == q.numbering:
		return corrupt("sequence %q has no period", q.name)
	case q.granted > capacity(q.base, q.spec.increment, math.MinInt64, math.MaxInt64):
		return corrupt("sequence %q granted %d numbers from %d on, which are not there", q.name, q.granted, q.base)
	case q.lastFrom > q.granted || q.lastToken != 0 && q.lastFrom == q.granted:
		return corrupt("sequence %q granted %d numbers, and the last block begins at %d", q.name, q.granted, q.lastFrom)
	case q.used.some && q.used.low > q.used.high, some && (!q.used.holds(q.base) || !q.used.holds(last)):
		return corrupt("sequence %q granted %d numbers from %d on, which are not in its hull", q.name, q.granted, q.base)
	case q.stops.frozen() && q.lastToken != 0:
		return corrupt("sequence %q is frozen and has a block that can be returned", q.name)
	case q.spent && !q.stops.frozen() && q.used != hull{math.MinInt64, math.MaxInt64, true}:
		return corrupt("sequence %q has nothing left and a hull", q.name)
	case q.lastToken != 0 && !q.alone():
		return corrupt("sequence %q has a hull that its last block does not end", q.name)
	}
	return nil
}

// alone reports whether the last block ends the hull, so that no other granted number is in the block or beyond it.
func (q *sequence) alone() bool {
	last, _ := q.last()
	if q.spec.increment > 0 {
		return q.used.high == last
	}
	return q.used.low == last
}

// buried reports whether a sequence is as deleteSequence leaves it.
func (q *sequence) buried() bool {
	return q.numbering == q.generation && q.generation > q.incarnation && q.base == q.spec.start && q.granted == 0 &&
		q.lastFrom == 0 && q.lastToken == 0 && q.spec.timeZone+q.spec.description+q.spec.template == "" &&
		q.spec.format == "" && (q.stops.frozen() || !q.spent)
}

func (r *snapshotDecoder) addAnswer(m *commandv1.SnapshotAnswer) error {
	t := &r.state.answers
	if len(t.queue) == maxAnswers {
		return corrupt("an answer too many")
	}
	if err := CheckSequenceName(m.GetSequence()); err != nil {
		return corrupt("an answer: %w", err)
	}
	if n := len(m.GetRequestId()); n < 1 || n > limits.RequestIDBytes || m.GetIncarnation() == 0 {
		return corrupt("an answer to a request ID of %d bytes, expected 1 to %d, or of no sequence", n, limits.RequestIDBytes)
	}
	switch {
	case m.GetCount() < 1 || m.GetCount() > maxBlock || m.GetIncrement() == 0,
		m.GetCount() > capacity(m.GetFirst(), m.GetIncrement(), math.MinInt64, math.MaxInt64):
		return corrupt("an answer of %d numbers from %d on by %d, which are not there", m.GetCount(), m.GetFirst(), m.GetIncrement())
	case m.GetPeriod() != 0 && checkDate(m.GetPeriod()) != nil:
		return corrupt("an answer has %w", checkDate(m.GetPeriod()))
	case m.GetGeneration() < m.GetIncarnation():
		return corrupt("an answer of generation %d, before its sequence of %d", m.GetGeneration(), m.GetIncarnation())
	case m.GetIssuedAtMs() < 0:
		return corrupt("an answer at %d ms", m.GetIssuedAtMs())
	}
	if q, ok := r.state.sequences.live.Get(m.GetSequence()); ok && (q.incarnation < m.GetIncarnation() || q.generation < m.GetGeneration()) {
		return corrupt("an answer of sequence %q that is newer than it", q.name)
	}
	t.append(answer{answerKey{m.GetOwner(), m.GetIncarnation(), string(m.GetRequestId())}, m.GetSequence(), BlockGrant{
		First: m.GetFirst(), Count: m.GetCount(), Increment: m.GetIncrement(),
		Generation: m.GetGeneration(), Period: m.GetPeriod(), AtMillis: m.GetIssuedAtMs(),
	}})
	return nil
}

func (r *snapshotDecoder) addTemplate(m *commandv1.SnapshotTemplate) error {
	if refused := checkTemplate(m.GetSpec()); refused != nil {
		return corrupt("%w", refused)
	}
	s, pattern := r.state, m.GetSpec().GetPattern()
	n := len(s.templates)
	switch {
	case s.version < DocumentVersion || n == maxTemplates || n > 0 && orderOf(s.templates[n-1].pattern, pattern) >= 0:
		return corrupt("template %q is too early, out of order or one too many", pattern)
	case m.GetGeneration() == 0 || s.restored == nil && (m.GetSuspended() || m.Start != nil) || m.GetSuspended() && m.Start != nil:
		return corrupt("template %q of generation %d is suspended or resumed", pattern, m.GetGeneration())
	}
	t := &template{
		pattern: pattern, settings: compactTemplate(m.GetSpec()), quota: m.GetSpec().GetQuota(), created: m.GetCreatedAtMs(),
		generation: m.GetGeneration(), suspended: m.GetSuspended(), start: m.Start,
	}
	if t.settings.code != (code{}) && s.codeSecret == nil {
		return corrupt("template %q has codes and no secret for them", pattern)
	}
	if err := t.checkStart(); err != nil {
		return corrupt("template %q: %w", pattern, err)
	}
	s.templates = append(s.templates, t)
	s.index = max(s.index, t.generation)
	return nil
}
