package slots_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/slots"
)

const (
	kib    = 1 << 10
	price  = 16 * kib
	memory = 8192 * kib
	share  = memory / 4
)

// vault takes slots that hold bytes.
type vault struct {
	*testing.T
	*slots.Budget
	evicted *sync.Map // names; evictions run in their own goroutines
}

func newVault(t *testing.T) vault {
	return vault{t, slots.NewBudget(1000, 1000, memory, price), new(sync.Map)}
}

// open takes a slot; a token of 0 leaves it silent.
func (v vault) open(name, ip string, token uint64) *slots.Slot {
	v.Helper()
	slot, ok := v.Take(at(ip), func() { v.evicted.Store(name, true) })
	if !ok {
		v.Fatalf("no slot for %s", name)
	}
	if token != 0 && !slot.Serve(token, &idler{}) {
		v.Fatalf("no share for %s", name)
	}
	return slot
}

func (v vault) reserve(slot *slots.Slot, n int64) {
	v.Helper()
	if got, err := slot.Reserve(v.Context(), n); got != n || err != nil {
		v.Errorf("Reserve(%d) = %d, %v", n, got, err)
	}
}

func (v vault) refuse(slot *slots.Slot, n int64) {
	v.Helper()
	began := time.Now()
	if got, err := slot.Reserve(v.Context(), n); got != 0 || !errors.Is(err, slots.ErrMemory) || time.Since(began) != 5*time.Second {
		v.Errorf("Reserve(%d) = %d, %v after %v", n, got, err, time.Since(began))
	}
}

func (v vault) expect(names ...string) {
	v.Helper()
	synctest.Wait()
	want := make(map[string]bool)
	for _, name := range names {
		want[name] = true
	}
	evicted := make(map[string]bool)
	for name := range v.evicted.Range {
		evicted[name.(string)] = true
	}
	if !maps.Equal(evicted, want) {
		v.Errorf("evicted %v, want %v", evicted, want)
	}
}

// A token reserves within its share, and all tokens within the memory of all.
func TestReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		one, two := v.open("one", "192.0.2.1", 1), v.open("two", "192.0.2.2", 1)
		v.reserve(one, share/2)
		v.reserve(two, share/2-2*price)
		time.AfterFunc(time.Second, func() { one.Sent(memory); two.Sent(memory) })
		v.refuse(one, 1)
		other := v.open("other", "192.0.2.3", 2)
		v.reserve(other, share/2) // another token's share is free
		time.AfterFunc(time.Second, func() { one.Charge(-share / 2) })
		v.reserve(two, share/4) // waits
		one.Release()
		two.Release()
		other.Release()
		if held := v.Held(); held != 0 {
			t.Errorf("%d bytes are held after all", held)
		}
		everyone := v.open("everyone", "192.0.2.4", 0)
		everyone.Serve(0, &idler{})
		for range 7 {
			v.reserve(everyone, share/2)
		}
		late := v.open("late", "192.0.2.5", 5)
		v.reserve(late, share/2-2*price)
		time.AfterFunc(time.Second, func() { everyone.Sent(memory); late.Sent(memory) })
		v.refuse(late, 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := late.Reserve(ctx, kib); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if late.TryReserve(kib) {
			t.Error("TryReserve found memory")
		}
		if _, full := late.Full(); full {
			t.Error("full without more")
		}
		late.Charge(10 * kib)
		returned, full := late.Full()
		if !full {
			t.Fatal("not full")
		}
		everyone.Release()
		<-returned
		v.expect()
	})
}

// When a call was refused, the connections that hold memory and have sent little since it began to wait are closed.
func TestStalledConnectionsAreEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		stalled, reads := v.open("stalled", "192.0.2.1", 1), v.open("reads", "192.0.2.2", 1)
		v.reserve(stalled, share/2-2*price)
		v.reserve(reads, share/2)
		time.AfterFunc(time.Second, func() {
			stalled.Sent(64*kib - 1)
			reads.Sent(64 * kib)
		})
		v.refuse(reads, 1)
		v.expect("stalled")
		v.reserve(reads, share/4)
	})
}

// Bytes of silent connections beyond their share close the greediest ones of the address that holds most.
func TestSilentHoldAShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		slow := v.open("slow", "192.0.2.9", 0)
		slow.Charge(64 * kib)
		var greedy []*slots.Slot
		for i := range 3 {
			greedy = append(greedy, v.open(fmt.Sprint("greedy", i), "198.51.100.1", 0))
		}
		greedy[0].Charge(share / 4)
		greedy[1].Charge(share / 2)
		greedy[2].Charge(share / 4)
		v.expect()
		greedy[2].Charge(share / 4)
		v.expect("greedy1")
		greedy[2].Charge(share)
		v.expect("greedy1", "greedy2")
		// Connections alone fill the share as well.
		for i := range 2 * share / price {
			v.open("flood", fmt.Sprintf("203.0.113.%d", i%4), 0)
		}
		if held := v.Held(); held > share*5/4 {
			t.Errorf("silent connections hold %d bytes of %d", held, share)
		}
		v.expect("greedy0", "greedy1", "greedy2", "flood")
	})
}

// Bytes of a token beyond its share close the connection that holds most; others stay.
func TestTokenHoldsAShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		v.open("silent", "192.0.2.1", 0)
		v.open("other", "192.0.2.1", 2).Charge(share)
		v.open("first", "192.0.2.1", 1)
		second := v.open("second", "192.0.2.1", 1)
		member := v.open("member", "192.0.2.3", 0)
		member.Spoke()
		second.Charge(share)
		v.expect()
		second.Charge(share / 4) // 5/4 with the price of three
		v.expect("second")
		member.Charge(memory) // a member's connection never makes way
		v.expect("second", "other")
	})
}

// A connection whose caller lost all rights makes way like a silent one.
func TestDistrust(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := vault{t, slots.NewBudget(2, 2, memory, price), new(sync.Map)}
		v.open("kept", "192.0.2.1", 0).Spoke()
		gone := v.open("gone", "192.0.2.1", 1)
		gone.Charge(kib)
		gone.Distrust()
		v.open("next", "192.0.2.2", 0)
		v.expect("gone")
		gone.Charge(-kib) // no effect
		if held := v.Held(); held != 2*price {
			t.Errorf("%d bytes are held by two connections", held)
		}
	})
}

// A connection is kept while others of its owner hold all memory, up to the quarter that evicts the one that holds most. So callers
// that read no answers keep out no other.
func TestServeInFullMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		greedy := v.open("greedy", "192.0.2.1", 7)
		v.reserve(greedy, share/2)
		greedy.Charge(share/2 - price)
		v.open("late", "192.0.2.2", 7)
		v.expect()
		for i := range share/4/price - 1 {
			v.open(fmt.Sprint(i), "192.0.2.3", 7)
		}
		v.expect()
		v.open("last", "192.0.2.4", 7)
		v.expect("greedy")
	})
}

// A token whose share is full evicts only its own connections that send nothing.
func TestFullShareEvictsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		v.reserve(v.open("other", "192.0.2.1", 8), 512*kib)
		v.reserve(v.open("stalled", "192.0.2.2", 7), share/2)
		greedy := v.open("greedy", "192.0.2.3", 7)
		v.reserve(greedy, share/2-4*price)
		go func() {
			time.Sleep(time.Second)
			greedy.Sent(memory)
		}()
		v.refuse(greedy, share/4)
		v.expect("stalled")
	})
}
