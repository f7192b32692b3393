//go:build process

package processtest

import (
	"context"
	"flag"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/test/depth"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

var failovers = flag.Int("failovers", depth.Of(2, 5), "number of failovers of each kind in TestSuccession")

const strictSequence = "strict"

// outages measures how long callers of strict numbers wait during an event. There is one caller at each member, and one with a
// client of all members. Each caller sends one request after the other.
type outages struct {
	t       *testing.T
	members []*member
	client  *client.Client
}

func newOutages(t *testing.T, members []*member) *outages {
	t.Helper()
	sequence := &snowraftv1.Sequence{Name: strictSequence, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}
	if _, err := members[0].numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: sequence}); err != nil {
		t.Fatal(err)
	}
	var options []client.Option
	if members[0].secret.Load() != nil {
		options = append(options, client.WithToken(members[0].firstToken("app", "seq:next:*")))
	}
	return &outages{t, members, dialCluster(t, members, options...)}
}

// during returns the longest time between two numbers of one caller. The caller at the member that goes away does not count.
func (o *outages) during(goes *member, event func()) (longest time.Duration) {
	o.t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	const before, after = 300 * time.Millisecond, 300 * time.Millisecond
	happened := make(chan struct{})
	call := func(next func(ctx context.Context) error) {
		wg.Go(func() {
			answered, gap, late := time.Now(), time.Duration(0), time.Time{}
			for late.IsZero() || answered.Before(late) {
				pass(o.t, pace)
				ctx, cancel := context.WithTimeout(o.t.Context(), callTimeout)
				err := next(ctx)
				cancel()
				now := time.Now()
				if err == nil {
					answered, gap = now, max(gap, now.Sub(answered))
				} else if now.Sub(answered) > patience {
					o.t.Errorf("no number for %v: %v", now.Sub(answered), err)
					return
				}
				select {
				case <-happened:
					if late.IsZero() {
						late = now.Add(after)
					}
				default:
				}
			}
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, gap)
		})
	}
	for _, m := range others(o.members, goes) {
		call(func(ctx context.Context) error {
			_, err := m.numbers.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: strictSequence, Count: 1})
			return err
		})
	}
	call(func(ctx context.Context) error {
		_, err := o.client.Sequence(strictSequence).Next(ctx)
		return err
	})
	pass(o.t, before)
	event()
	close(happened)
	wg.Wait()
	return longest
}

// called returns the number of elections without a timeout in the logs of members.
func called(members []*member) (count int) {
	for _, m := range members {
		count += strings.Count(m.stderr.String(), "calling an election")
	}
	return count
}

// TestSuccession stops leaders in all ways.
func TestSuccession(t *testing.T) {
	for name, secured := range map[string]bool{"open": false, "secured": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var flags []string
			if secured {
				flags = secretFile(t)
			}
			members := startCluster(t, 3, flags...)
			o := newOutages(t, members)
			for _, kind := range []struct {
				name  string
				end   func(m *member)
				again func(m *member)
				calls bool
			}{
				{"killed", func(m *member) { m.kill() }, func(m *member) { m.start() }, true},
				{"stopped", func(m *member) { m.stop() }, func(m *member) { m.start() }, false},
				{"paused", func(m *member) {
					m.signal(syscall.SIGSTOP)
					leader(t, others(members, m))
				}, func(m *member) { m.signal(syscall.SIGCONT) }, false},
				{"transferred", func(m *member) {
					until(t, "another member leads", func() bool { // a busy machine may not transfer leadership in time
						_, _ = m.cluster.TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{})
						return leader(t, members) != m
					})
				}, func(*member) {}, false},
			} {
				t.Run(kind.name, func(t *testing.T) {
					var took []time.Duration
					s, elections, stalled := watchStalls(t), 0, 0
					for range *failovers {
						victim := leader(t, members)
						if kind.calls {
							pass(t, 2*time.Second) // the followers notice this process of the leader
						}
						survivors := others(members, victim)
						before, began := called(survivors), time.Now()
						took = append(took, o.during(victim, func() { kind.end(victim) }).Round(time.Millisecond))
						elections += called(survivors) - before
						if s.elects(began, time.Now()) {
							stalled++
						}
						kind.again(victim)
						victim.untilIssues()
					}
					slices.Sort(took)
					t.Logf("leader %s: no strict number for %v (median), %v", kind.name, took[len(took)/2], took)
					want := 0
					if kind.calls {
						want = *failovers
					}
					if off := elections - want; max(off, -off) > stalled {
						t.Errorf("leader %s: %d elections were called, want %d; the machine stalled in %d rounds", kind.name, elections, want, stalled)
					}
				})
			}
		})
	}
}
