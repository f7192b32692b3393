//go:build process

package processtest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// callers is a group of callers that request single IDs through one client until stop. Each sends one request after the other.
type callers struct {
	t       *testing.T
	client  *client.Client
	wg      sync.WaitGroup
	stopped chan struct{}

	mu      sync.Mutex
	ids     []int64
	failed  []error
	slowest map[string]time.Duration // slowest call by phase
	phase   string
}

// startCallers starts callers of a client that knows one of the members and learns the others.
func startCallers(t *testing.T, members []*member, n int, options ...client.Option) *callers {
	t.Helper()
	c, err := client.New([]string{members[0].api}, options...)
	if err != nil {
		t.Fatal(err)
	}
	a := &callers{t: t, client: c, stopped: make(chan struct{}), slowest: make(map[string]time.Duration), phase: "at first"}
	for range n {
		a.wg.Go(func() {
			var mine []int64 // separate slice; its growth delays no other caller
			for a.ask(&mine) {
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.ids = append(a.ids, mine...)
		})
	}
	t.Cleanup(func() { _ = c.Close() })
	return a
}

func (a *callers) ask(mine *[]int64) bool {
	select {
	case <-a.stopped:
		return false
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	began := time.Now()
	id, err := a.client.NextID(ctx)
	took := time.Since(began)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.failed = append(a.failed, err)
		return len(a.failed) < 10
	}
	*mine = append(*mine, id)
	a.slowest[a.phase] = max(a.slowest[a.phase], took)
	return true
}

// during sets the name of the phase that begins now.
func (a *callers) during(phase string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase = phase
}

// slowestCall is the longest time of a call that another member could answer. A client on a busy machine
// may try several members in turn. A call that waits for one member only takes callTimeout.
const slowestCall = 3 * time.Second

// stop stops the callers. It fails the test if a call failed, an ID was issued twice, or a call took longer
// than slowestCall.
func (a *callers) stop() {
	a.t.Helper()
	close(a.stopped)
	a.wg.Wait()
	for _, err := range a.failed {
		a.t.Error(err)
	}
	slices.Sort(a.ids)
	if n := len(slices.Compact(slices.Clone(a.ids))); n != len(a.ids) || n == 0 {
		a.t.Errorf("%d IDs, %d different ones", len(a.ids), n)
	}
	for _, phase := range slices.Sorted(maps.Keys(a.slowest)) {
		a.t.Logf("the slowest call %s took %v", phase, a.slowest[phase].Round(time.Microsecond))
		if a.slowest[phase] > slowestCall {
			a.t.Errorf("the slowest call %s took %v, want at most %v", phase, a.slowest[phase], slowestCall)
		}
	}
	a.t.Logf("%d IDs, all different", len(a.ids))
}

// Callers of the client do not notice that leaders are killed and restarted, and strict sequences
// resume soon.
func TestClientWhileLeadersAreKilled(t *testing.T) {
	members := startCluster(t, 3)
	for _, m := range members {
		m.untilWindow("default", 6*time.Second)
	}
	create := &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "strict", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}}
	if _, err := members[0].numbers.CreateSequence(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	a := startCallers(t, members, 64)
	pass(t, time.Second)
	for range 3 {
		victim := leader(t, members)
		other := others(members, victim)[0]
		a.during("while a leader is killed")
		victim.kill()
		back := within(t, 5*time.Second, "strict sequences resume", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
			defer cancel()
			_, err := other.numbers.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "strict", Count: 1})
			return err == nil
		})
		t.Logf("strict sequences resumed after %v", back.Round(time.Millisecond))
		pass(t, 500*time.Millisecond)
		a.during("while a member starts")
		victim.start()
		victim.untilIssues()
		victim.untilWindow("default", 6*time.Second)
		a.during("in between")
		pass(t, 500*time.Millisecond)
	}
	a.stop()
}

// A member that hangs keeps its connections. It delays some calls, but no call fails.
func TestClientWhileAMemberHangs(t *testing.T) {
	members := startCluster(t, 3)
	for _, m := range members {
		m.untilWindow("default", 30*time.Second) // longer than the test
	}
	a := startCallers(t, members, 64)
	pass(t, time.Second)
	victim := others(members, leader(t, members))[0]
	a.during("while a member hangs")
	victim.signal(syscall.SIGSTOP)
	pass(t, 15*time.Second) // the client closes the connection after 13 s
	victim.signal(syscall.SIGCONT)
	victim.untilIssues()
	a.during("after the member hung")
	pass(t, time.Second)
	a.stop()
}
