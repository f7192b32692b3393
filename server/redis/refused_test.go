package redis_test

import (
	"maps"
	"sync"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/redis"
)

// Every command that is refused is counted, also each of a pipeline that fail together.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := make(map[string]int)
	f := &fake{}
	f.add("one", 1, 1, 1, true)
	_, addr := start(t, redis.Config{Backend: f, Create: redis.CreateOff, Refused: func(why error) {
		mu.Lock()
		defer mu.Unlock()
		got[rpc.FromError(why).Reason]++
	}})
	all(t, addr, "HELLO 3\r\nHELLO 2\r\nPING\r\nINCR one\r\nGET one\r\nGET none\r\nEXISTS none\r\n") // none of these
	all(t, addr, "INCR none\r\nINCR none\r\nINCRBY none 3\r\nINCR one\r\nSNOWRAFT.ID none\r\nINCR\r\nINCRBY one 0\r\nSET one 5\r\nFOO\r\n")
	want := map[string]int{rpc.UnknownSequence: 3, rpc.SequenceExhausted: 1, rpc.UnknownLayout: 1, rpc.InvalidArgument: 4}
	mu.Lock()
	defer mu.Unlock()
	if !maps.Equal(got, want) {
		t.Errorf("refused %v, expected %v", got, want)
	}
}
