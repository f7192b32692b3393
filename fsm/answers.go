package fsm

import (
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	maxAnswers   = 1 << 18
	answerMillis = 600_000 // lifetime of an answer in ms, on the observed clock

	// tokenPart is the part of all answers, as a divisor, that one API token gets, so that it leaves room for others.
	tokenPart = 8
)

// answer is the block that a request with an ID got. It never changes.
type answer struct {
	answerKey
	sequence string
	block    BlockGrant // without a token
}

type answerKey struct {
	owner       uint64 // ID of the requesting API token, 0 without one; other owners neither see nor use its request IDs
	incarnation uint64 // incarnation of the sequence, so that a new sequence does not get the answers of a deleted one
	request     string
}

// expired reports whether an answer is older than answerMillis. If the observed clock is behind the answer's time, for
// example because an operator lowered the clock, the answer counts as new until the clock has reached that time.
func (a *answer) expired(observed int64) bool {
	return minus(observed, a.block.AtMillis) > answerMillis
}

// current reports whether an answer counts against its token's part: it is neither expired nor more than answerMillis
// ahead of the observed clock, which an operator may have lowered.
func (a *answer) current(observed int64) bool {
	return !a.expired(observed) && minus(a.block.AtMillis, observed) <= answerMillis
}

// answers holds the answers to requests with an ID, oldest first, at most maxAnswers
// of them. An answer counts for answerMillis. Each new answer drops expired ones,
// beginning with the oldest. So an answer from before the clock was lowered keeps the
// later ones in the table. When the table is full, such an answer is dropped early.
type answers struct {
	// queue[gone:] are the remembered answers. Entries are only appended, and copied to
	// a new array when half of them are gone, because snapshots share the array.
	queue []answer
	gone  int
	place map[answerKey]uint64 // place of the newest answer of each key: the number of answers appended before it
	first uint64               // place of queue[0]
	own   map[uint64][]uint64  // places of each token's answers, in ascending order
	limit int
}

func newAnswers() answers {
	return answers{place: map[answerKey]uint64{}, own: map[uint64][]uint64{}, limit: maxAnswers}
}

// kept returns the remembered answers. The slice never changes.
func (t *answers) kept() []answer { return t.queue[t.gone:len(t.queue):len(t.queue)] }

// find returns the answer that a request got, if it counts.
func (t *answers) find(key answerKey, observed int64) (*answer, bool) {
	place, ok := t.place[key]
	if !ok {
		return nil, false
	}
	a := &t.queue[place-t.first]
	return a, !a.expired(observed)
}

// room refuses if there is no room for one more of an owner.
func (t *answers) room(owner uint64, observed int64) *Refused {
	if own, part := t.own[owner], t.limit/tokenPart; len(own) >= part && owner != 0 {
		if a := &t.queue[own[len(own)-part]-t.first]; a.current(observed) {
			free := a.block.AtMillis + answerMillis + 1
			return refuse(commandv1.Refusal_REFUSAL_OVERLOADED,
				"limit of %d remembered request IDs of token %d reached; try again in %d ms, or omit the request ID",
				part, owner, minus(free, observed)).retryAt(free)
		}
	}
	if len(t.queue)-t.gone < t.limit || t.droppable(observed) {
		return nil
	}
	free := t.queue[t.gone].block.AtMillis + answerMillis + 1
	return refuse(commandv1.Refusal_REFUSAL_OVERLOADED,
		"limit of %d remembered request IDs reached; try again in %d ms, or omit the request ID",
		t.limit, minus(free, observed)).retryAt(free)
}

// droppable reports whether the oldest answer may be dropped: it expired, or the table
// is full and the answer is from before the clock was lowered.
func (t *answers) droppable(observed int64) bool {
	oldest := &t.queue[t.gone]
	return oldest.expired(observed) || oldest.block.AtMillis > observed && len(t.queue)-t.gone >= t.limit
}

// add drops the answers that may be dropped and remembers a new one. Requires that room returned nil.
func (t *answers) add(a answer, observed int64) {
	for t.gone < len(t.queue) && t.droppable(observed) {
		oldest := t.queue[t.gone].answerKey
		if own := t.own[oldest.owner]; len(own) > 1 {
			t.own[oldest.owner] = own[1:]
		} else {
			delete(t.own, oldest.owner)
		}
		if t.place[oldest] == t.first+uint64(t.gone) {
			delete(t.place, oldest)
		}
		t.gone++
	}
	if t.gone > len(t.queue)/2 {
		t.queue, t.first, t.gone = slices.Clone(t.kept()), t.first+uint64(t.gone), 0
	}
	t.append(a)
}

// append remembers an answer after all others.
func (t *answers) append(a answer) {
	place := t.first + uint64(len(t.queue))
	t.place[a.answerKey] = place
	if a.owner != 0 {
		t.own[a.owner] = append(t.own[a.owner], place)
	}
	t.queue = append(t.queue, a)
}
