package fsm

import (
	"fmt"
	"strings"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// TestTokensLeaveWorkersForOthers: a token that acquires all workers that it gets, under ever new names, leaves half for
// others, and keeps its own.
func TestTokensLeaveWorkersForOthers(t *testing.T) {
	const exhausted = commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED
	for bits, part := range map[uint8]int{1: 1, 2: 2, 3: 3, 6: 24, 8: 120} {
		t.Run(fmt.Sprint(1<<bits, " workers"), func(t *testing.T) {
			l := newLog(t, withWorkers(bits))
			greedy, other := l.token("greedy"), l.token("other")
			names := 0
			more := func(id uint64, now, window int64) *commandv1.Command {
				names++
				return at(now, by(id, l.index, acquire(fmt.Sprint("h", names), window)))
			}
			for i := range part {
				l.must(more(greedy, epoch, 10_000+10*int64(i)))
			}
			refused := l.refused(exhausted, more(greedy, epoch, 1000))
			if refused.RetryAtMillis != epoch+10_000 || !strings.Contains(refused.Detail, "limit for one API token") {
				t.Errorf("%+v", refused)
			}
			l.survives()
			l.refused(exhausted, more(greedy, epoch, 1000))
			// Its own come back to it, whatever it calls itself, and no others do though they are free.
			if g := l.must(more(greedy, refused.RetryAtMillis, 60_000)).Grant; g.Worker != 0 {
				t.Errorf("got worker %d, want the oldest of its own", g.Worker)
			}
			l.survives()
			for i := range (part*2 - 1) / 2 {
				if g := l.must(more(other, epoch+10_000, 1000)).Grant; g.Worker != uint64(part+i) {
					t.Errorf("another token got worker %d, want %d", g.Worker, part+i)
				}
			}
			// Others take what it does not hold anymore; then it may have as many again.
			now := epoch + int64(200_000)
			for range part {
				l.must(more(other, now, 10_000))
			}
			l.survives()
			for w, owned := range l.layouts["tiny"].workers.ofToken {
				if len(owned) > part {
					t.Errorf("token %d has %d workers", w, len(owned))
				}
			}
			l.must(at(now, acquire("member", 10_000)))
		})
	}
}
