//go:build process

package processtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
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

	answered atomic.Int64
	stalls   *stalls
	mu       sync.Mutex
	ids      []int64
	failed   []error
	slowest  map[string]time.Duration // slowest call by phase, without stalls
	phase    string
}

// startCallers starts callers of a client that knows one of the members and learns the others.
func startCallers(t *testing.T, members []*member, n int, options ...client.Option) *callers {
	t.Helper()
	c, err := client.New([]string{members[0].api}, options...)
	if err != nil {
		t.Fatal(err)
	}
	a := &callers{t: t, client: c, stopped: make(chan struct{}), stalls: watchStalls(t), slowest: make(map[string]time.Duration), phase: "at first"}
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

// untilAnswered waits until the callers got more IDs.
func (a *callers) untilAnswered(more int64) {
	a.t.Helper()
	from := a.answered.Load()
	until(a.t, fmt.Sprintf("callers got %d more IDs", more), func() bool { return a.answered.Load() >= from+more })
}

func (a *callers) ask(mine *[]int64) bool {
	select {
	case <-a.stopped:
		return false
	case <-time.After(pace):
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	began := time.Now()
	id, err := a.client.NextID(ctx)
	took := time.Since(began)
	if took > time.Duration(slowestCall) {
		took -= a.stalls.between(began, began.Add(took))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.failed = append(a.failed, err)
		return len(a.failed) < 10
	}
	*mine = append(*mine, id)
	a.answered.Add(1)
	a.slowest[a.phase] = max(a.slowest[a.phase], took)
	return true
}

// during sets the name of the phase that begins now.
func (a *callers) during(phase string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase = phase
}

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
		if a.slowest[phase] > time.Duration(slowestCall) {
			a.t.Errorf("the slowest call %s took %v, want at most %v", phase, a.slowest[phase], time.Duration(slowestCall))
		}
	}
	a.t.Logf("%d IDs, all different", len(a.ids))
}

// Callers of the client do not notice that leaders are killed and restarted, and strict sequences
// resume soon.
func TestClientWhileLeadersAreKilled(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	for _, m := range members {
		m.untilWindow("default", 6*time.Second)
	}
	create := &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "strict", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}}
	if _, err := members[0].numbers.CreateSequence(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	a := startCallers(t, members, 64)
	for range 3 {
		a.untilAnswered(1000)
		victim := leader(t, members)
		other := others(members, victim)[0]
		a.during("while a leader is killed")
		victim.kill()
		back := within(t, electsLeader, "strict sequences resume", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
			defer cancel()
			_, err := other.numbers.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "strict", Count: 1})
			return err == nil
		})
		t.Logf("strict sequences resumed after %v", back.Round(time.Millisecond))
		a.untilAnswered(1000)
		a.during("while a member starts")
		victim.start()
		victim.untilIssues()
		victim.untilWindow("default", 6*time.Second)
		a.during("in between")
	}
	a.stop()
}

// A member that hangs keeps its connections. It delays some calls, but no call fails.
func TestClientWhileAMemberHangs(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	a := startCallers(t, members, 64)
	a.untilAnswered(1000)
	victim := others(members, leader(t, members))[0]
	a.during("while a member hangs")
	victim.signal(syscall.SIGSTOP)
	pass(t, 15*time.Second) // the client closes the connection after 13 s
	victim.signal(syscall.SIGCONT)
	victim.untilIssues()
	a.during("after the member hung")
	a.untilAnswered(1000)
	a.stop()
}
