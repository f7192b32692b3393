package allocator

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/snowflake"
)

// raced is a lease from which a caller takes cells until it is closed.
type raced struct {
	*lease
	begun  atomic.Bool
	issued atomic.Uint64 // end of all taken cells; 0 until the caller saw the lease closed
}

func (r *raced) takeAll() {
	for last := r.first; ; r.begun.Store(true) {
		_, end, v, _ := r.take(1000, 1, 0)
		if v != taken {
			r.issued.Store(last)
			return
		}
		last = end
	}
}

// spin waits for a moment that is some nanoseconds away if both cores run the test.
func spin(until func() bool) {
	for i := 1; !until(); i++ {
		if i%1000 == 0 {
			runtime.Gosched()
		}
	}
}

// A caller that takes cells while the lease is closed gets none beyond the position at which it was closed,
// because the next holder's window begins right after that position.
//
// A round is a race if the caller took a cell between a look at the position and the close. On a busy machine
// thousands of rounds can pass without one, so the test also counts the races. Each planted bug shows about as
// often as a race.
func TestCloseRacesWithTakes(t *testing.T) {
	rounds, races := depth.Of(depth.Little(1000, 3000), 10_000), depth.Of(depth.Little(20, 60), 200) // at least
	const patience = time.Minute
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors that run at once")
	}
	layout := snowflake.Default()
	var present atomic.Pointer[raced]
	done := make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		var before *raced
		for {
			spin(func() bool { return present.Load() != before })
			if before = present.Load(); before == nil {
				return
			}
			before.takeAll()
		}
	}()
	defer present.Store(nil)
	begun, round := time.Now(), 0
	for count := 0; round < rounds || count < races; round++ {
		if time.Since(begun) > patience {
			t.Skipf("needs two processors that run at once: %d races in %d rounds", count, round)
		}
		r := &raced{lease: newLease(layout, Grant{Worker: 1, Token: 1, From: 1000, Until: 1 << 20}, 0, time.Second)}
		present.Store(r)
		spin(r.begun.Load)
		seen := r.position.Load()
		r.close()
		spin(func() bool { return r.issued.Load() != 0 })
		if last := r.issued.Load(); last != r.last {
			t.Fatalf("round %d: closed at cell %d, but issued all below %d", round, r.last, last)
		}
		if r.last != seen {
			count++
		}
	}
}
