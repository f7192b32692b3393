package leadership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Verifier confirms that a leader was not replaced. It queries further voters when a query takes long (a hedge). One timer serves all
// hedges and stays set while there are any: setting a timer for each would wake a thread each time, which costs as much as the query
// itself. The zero value is ready for use.
type Verifier struct {
	mu    sync.Mutex
	open  []*hedge // earliest first
	timer *time.Timer
	set   bool
}

// hedge is a function that is started in its own goroutine, unless the hedge is removed before it is due.
type hedge struct {
	due   time.Time
	start func()
}

// add adds a hedge that is due after hedgeAfter.
func (hs *Verifier) add(start func()) *hedge {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := &hedge{due: time.Now().Add(hedgeAfter), start: start}
	hs.open = append(hs.open, h)
	if !hs.set {
		hs.arm(hedgeAfter)
	}
	return h
}

// remove removes a hedge. It reports whether the hedge was not started, and so never will be.
func (hs *Verifier) remove(h *hedge) bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	i := slices.Index(hs.open, h)
	if i < 0 {
		return false
	}
	hs.open = slices.Delete(hs.open, i, i+1)
	return true
}

// arm sets the timer. Requires hs.mu held.
func (hs *Verifier) arm(d time.Duration) {
	hs.set = true
	if hs.timer == nil {
		hs.timer = time.AfterFunc(d, hs.fire)
	} else {
		hs.timer.Reset(d)
	}
}

// fire starts the hedges that are due.
func (hs *Verifier) fire() {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.set = false
	now := time.Now()
	for len(hs.open) > 0 && !hs.open[0].due.After(now) {
		go hs.open[0].start()
		hs.open = slices.Delete(hs.open, 0, 1)
	}
	if len(hs.open) > 0 {
		hs.arm(hs.open[0].due.Sub(now))
	}
}

// ErrNotLeader reports that this node does not lead, or is not ready to lead yet. Nothing was appended: a retry at another
// node is safe.
var ErrNotLeader = errors.New("this member is not the leader")

// hedgeAfter is the time that a majority may take to answer before the remaining voters are queried too.
const hedgeAfter = 5 * time.Millisecond

// termAsker is a function that returns the term of a node.
type termAsker func(context.Context, raft.ServerID) (uint64, error)

// errLaterTerm is the error of a replaced leader.
var errLaterTerm = fmt.Errorf("%w: there is a later term", ErrNotLeader)

// Confirm requests the terms of others, in their order, until need of them have not seen a term later than this one. It
// returns the node that answered last. If need is 1, the calling goroutine itself waits for the answer, so that no other
// goroutine has to wake up. It then queries the remaining nodes only if that takes long.
func (hs *Verifier) Confirm(ctx context.Context, term uint64, others []raft.ServerID, need int, askTerm termAsker) (last raft.ServerID, err error) {
	if need != 1 || len(others) == 0 {
		return gather(ctx, term, others, need, askTerm)
	}
	first, rest := others[0], others[1:]
	type outcome struct {
		last raft.ServerID
		err  error
	}
	hedged := make(chan outcome, 1)
	mine, cancel := context.WithCancel(ctx)
	defer cancel()
	var other *hedge
	if len(rest) > 0 {
		other = hs.add(func() {
			last, err := gather(ctx, term, rest, need, askTerm)
			hedged <- outcome{last, err}
			if err == nil || errors.Is(err, errLaterTerm) {
				cancel()
			}
		})
	}
	seen, err := askTerm(mine, first)
	alone := other == nil || hs.remove(other)
	switch {
	case err == nil && seen > term:
		return "", errLaterTerm
	case err == nil:
		return first, nil
	case !alone:
		late := <-hedged
		return late.last, late.err
	case ctx.Err() != nil:
		return "", ctx.Err()
	case other == nil:
		return "", unanswered(err)
	default:
		return gather(ctx, term, rest, need, askTerm)
	}
}

// gather queries need of the others at once, a further one after each failure, and all of them after hedgeAfter.
func gather(ctx context.Context, term uint64, others []raft.ServerID, need int, askTerm termAsker) (last raft.ServerID, err error) {
	if need > len(others) {
		return "", fmt.Errorf("%w: this node is not a voter", ErrNotLeader)
	}
	type answer struct {
		from raft.ServerID
		term uint64
		err  error
	}
	answers := make(chan answer, len(others))
	asked := 0
	ask := func(upTo int) {
		for ; asked < min(upTo, len(others)); asked++ {
			id := others[asked]
			go func() {
				t, err := askTerm(ctx, id)
				answers <- answer{id, t, err}
			}()
		}
	}
	ask(need)
	hedge := time.NewTimer(hedgeAfter)
	defer hedge.Stop()
	for agreed, failed := 0, 0; agreed < need; {
		select {
		case a := <-answers:
			switch {
			case a.err != nil:
				if failed++; failed > len(others)-need {
					return last, unanswered(a.err)
				}
				ask(asked + 1)
			case a.term > term:
				return last, errLaterTerm
			default:
				agreed, last = agreed+1, a.from
			}
		case <-hedge.C:
			ask(len(others))
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
	return last, nil
}

// unanswered returns the error of a leader if too few others answer; last is the last failure.
func unanswered(last error) error {
	return fmt.Errorf("%w: no response from a majority of the voters; last error: %w", ErrNotLeader, last)
}

// MajorityWithout returns the voters among servers other than self. need is how many of them make a majority, together with self if
// it is a voter.
func MajorityWithout(servers []raft.Server, self raft.ServerID) (others []raft.ServerID, need int) {
	voters := 0
	for _, s := range servers {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		if s.ID != self {
			others = append(others, s.ID)
		}
	}
	need = voters / 2
	if voters == len(others) { // self is not a voter
		need++
	}
	return others, need
}
