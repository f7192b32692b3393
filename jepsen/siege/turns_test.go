package siege

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestProtocolsCallInTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		turns, came := newTurns(), make(chan int, 3)
		for i := range 3 {
			go func() {
				turns.await(ctx, i)
				came <- i
			}()
		}
		for _, i := range []int{0, 2} { // protocol 0 has the first turn
			if i > 0 {
				turns.give(i)
			}
			synctest.Wait()
			if len(came) != 1 || <-came != i {
				t.Fatalf("in the turn of %d, another protocol or none came", i)
			}
		}
		cancel()
		synctest.Wait()
		if len(came) != 1 {
			t.Error("a client waits after the end of its context")
		}
	})
}
