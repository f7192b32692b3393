//go:build process

package processtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// pace is the pause between two requests of a client that, as in production, leaves
// the machine time for other work.
const pace = 5 * time.Millisecond

// failure is a request that failed.
type failure struct {
	member       *member // nil: all members failed
	began, ended time.Time
	err          error
}

func (f failure) String() string {
	who := "all members"
	if f.member != nil {
		who = f.member.name
	}
	return fmt.Sprintf("%s after %v: %s: %v", f.ended.Format("15:04:05.000"), f.ended.Sub(f.began).Round(time.Millisecond), who, f.err)
}

// load is a set of clients that request IDs until stop.
type load struct {
	ledger *ledger
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	stalls   *stalls
	mu       sync.Mutex
	failures []failure
	asked    map[*member][]time.Time // times of answers to clients of this member only
	open     map[*request]bool       // requests of such clients without an answer yet
}

// request is a request of a client that knows one member only.
type request struct {
	member *member
	began  time.Time
}

func newLoad(t *testing.T, l *ledger) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	g := &load{ledger: l, ctx: ctx, cancel: cancel, stalls: watchStalls(t), asked: make(map[*member][]time.Time), open: make(map[*request]bool)}
	t.Cleanup(g.stop)
	return g
}

// stop stops the clients and waits for them.
func (g *load) stop() {
	g.cancel()
	g.wg.Wait()
}

// client adds a client that calls ask repeatedly, with a pause.
func (g *load) client(pause time.Duration, ask func()) {
	g.wg.Go(func() {
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			select {
			case <-g.ctx.Done():
				return
			case <-timer.C:
			}
			ask()
			timer.Reset(pause)
		}
	})
}

// loyal adds clients that know one member only.
func (g *load) loyal(m *member, clients int, pause time.Duration, count func() uint32) {
	for range clients {
		g.client(pause, func() {
			r := &request{m, time.Now()}
			g.mu.Lock()
			g.open[r] = true
			g.mu.Unlock()
			err := g.ask(m, r.began, count())
			ended := time.Now()
			g.mu.Lock()
			defer g.mu.Unlock()
			delete(g.open, r)
			if err == nil {
				g.asked[m] = append(g.asked[m], ended)
			} else {
				g.failures = append(g.failures, failure{m, r.began, ended, err})
			}
		})
	}
}

// roaming adds clients that know all members. Each client stays with the member that
// answered last, and calls the next one if that member is unavailable. A request has
// failed if every member failed once.
func (g *load) roaming(members []*member, clients int, count func() uint32) {
	for i := range clients {
		at := i
		g.client(pace, func() {
			began, n := time.Now(), count()
			var errs []error
			for range members {
				err := g.ask(members[at%len(members)], began, n)
				if err == nil {
					return
				}
				errs = append(errs, err)
				if status.Code(err) != codes.Unavailable {
					break
				}
				at++
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			g.failures = append(g.failures, failure{nil, began, time.Now(), fmt.Errorf("%q", errs)})
		})
	}
}

func (g *load) ask(m *member, began time.Time, count uint32) error {
	// stop waits for requests in flight.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.ctx), callTimeout)
	defer cancel()
	resp, err := m.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Layout: g.ledger.layout.Name(), Count: count})
	if err == nil {
		g.ledger.add(m, began, resp)
	}
	return err
}

// sent reports whether a client that read the clock before its request has sent the request by a later time: the client needs less
// than 50 ms, unless the machine stalls.
func (g *load) sent(began, by time.Time) bool {
	margin := by.Sub(began) - 50*time.Millisecond
	return margin > 0 && margin > g.stalls.between(began, by)
}

// untilSent waits until a request to a member has been sent and has no answer yet. It returns the time.
func (g *load) untilSent(m *member) (now time.Time) {
	m.t.Helper()
	until(m.t, "a request to "+m.name+" has no answer yet", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		now = time.Now()
		for r := range g.open {
			if r.member == m && g.sent(r.began, now) {
				return true
			}
		}
		return false
	})
	return now
}

// failed returns the failed requests for which choose returns true.
func (g *load) failed(choose func(failure) bool) []failure {
	g.mu.Lock()
	defer g.mu.Unlock()
	var chosen []failure
	for _, f := range g.failures {
		if choose(f) {
			chosen = append(chosen, f)
		}
	}
	return chosen
}

// report fails the test if there were failures.
func report(t *testing.T, what string, failures []failure) {
	t.Helper()
	for i, f := range failures {
		if i == 10 {
			t.Errorf("... %d in all", len(failures))
			break
		}
		t.Errorf("%s: %v", what, f)
	}
}

// gap returns the longest time in [from, to) in which no loyal client of a member got an answer, without the time for which the
// machine stalled meanwhile.
func (g *load) gap(m *member, from, to time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	answers := slices.SortedFunc(slices.Values(g.asked[m]), time.Time.Compare)
	var longest time.Duration
	last := from
	for _, at := range append(answers, to) {
		if at.Before(from) || at.After(to) {
			continue
		}
		if gap := at.Sub(last); gap > longest {
			longest = max(longest, gap-g.stalls.between(last, at))
		}
		last = at
	}
	return longest
}

// untilAsked waits until the loyal clients of a member got more answers.
func (g *load) untilAsked(m *member, more int) {
	m.t.Helper()
	answers := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.asked[m])
	}
	from := answers()
	until(m.t, fmt.Sprintf("clients of %s got %d more answers", m.name, more), func() bool { return answers() >= from+more })
}
