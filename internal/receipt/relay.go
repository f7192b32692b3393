package receipt

import (
	"context"
	"sync"
	"time"
)

const (
	// maxWaiting is the number of claims of proven callers that wait in a [Relay], and that of other callers. Further ones are
	// dropped: clients repeat theirs.
	maxWaiting = 16
	// pause is the least time between two claims that a Relay passes on, and retryAfter the time between two tries of one.
	pause      = 100 * time.Millisecond
	retryAfter = time.Second
	// passFor is the time limit of a try, and tryFor that of all tries of a claim.
	passFor = 5 * time.Second
	tryFor  = time.Minute
	// passedFor is the time for which a Relay does not repeat a claim, and maxPassed the number of claims that it remembers.
	passedFor = 20 * time.Second
	maxPassed = 64
)

// Relay passes claims on to where they are judged, one at a time. A claim is what a client knows of its cluster's history.
//
// Any caller can bring claims, as often as it likes. So a Relay drops claims that prove nothing here, claims that
// were passed on lately, and those that come while too many wait. Claims of proven callers go first, and other callers take none
// of their places.
type Relay[K comparable] struct {
	// Settles reports whether this process itself knows that a claim proves nothing; nil: it never knows.
	Settles func(K) bool
	// Pass passes on a claim of a witness. It is called by one goroutine.
	Pass func(ctx context.Context, claim K, witness string) error
	// Retry returns a channel that is closed when another try may succeed; nil: no such channel.
	Retry func() <-chan struct{}
	// Now returns the monotonic clock.
	Now func() time.Duration

	once             sync.Once
	proven, unproven chan claimed[K] // claims that wait

	mu     sync.Mutex
	passed map[K]time.Duration // time at which the claim was passed on
}

type claimed[K comparable] struct {
	claim   K
	witness string
}

func (r *Relay[K]) init() {
	r.once.Do(func() {
		r.proven, r.unproven = make(chan claimed[K], maxWaiting), make(chan claimed[K], maxWaiting)
		r.passed = make(map[K]time.Duration)
	})
}

// Offer takes a claim of a witness, which is proven if it presented a valid token or certificate. It never blocks.
func (r *Relay[K]) Offer(claim K, witness string, proven bool) {
	r.init()
	if r.settled(claim) {
		return
	}
	waiting := r.unproven
	if proven {
		waiting = r.proven
	}
	select {
	case waiting <- claimed[K]{claim, witness}:
	default:
	}
}

// Run passes on claims until ctx ends.
func (r *Relay[K]) Run(ctx context.Context) {
	r.init()
	for {
		select {
		case c := <-r.proven:
			r.present(ctx, c)
		default:
			select {
			case c := <-r.proven:
				r.present(ctx, c)
			case c := <-r.unproven:
				r.present(ctx, c)
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// present passes on a claim. Until that succeeds, the claim may be settled.
func (r *Relay[K]) present(ctx context.Context, c claimed[K]) {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	for !r.settled(c.claim) && ctx.Err() == nil {
		var retry <-chan struct{}
		if r.Retry != nil {
			retry = r.Retry()
		}
		bounded, cancel := context.WithTimeout(ctx, passFor)
		err := r.Pass(bounded, c.claim, c.witness)
		cancel()
		if err == nil {
			r.remember(c.claim)
			return
		}
		select {
		case <-retry:
		case <-time.After(retryAfter):
		case <-ctx.Done():
		}
	}
}

// settled reports whether a claim need not be passed on now.
func (r *Relay[K]) settled(claim K) bool {
	if r.Settles != nil && r.Settles(claim) {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.passed[claim]
	return ok && r.Now()-at < passedFor
}

// remember notes that a claim was passed on. It forgets old claims, and any others if there are too many.
func (r *Relay[K]) remember(claim K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	for other, at := range r.passed {
		if now-at >= passedFor || len(r.passed) >= maxPassed {
			delete(r.passed, other)
		}
	}
	r.passed[claim] = now
}
