//go:build linux

package disk

import (
	"testing"
	"time"
)

func TestFaultsHit(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	close(gone) // no sync is delayed
	sync := func(f *faulty) { _ = f.sync(gone, func() error { return nil }) }
	write := func(f *faulty) { f.write(0, sector) }
	for _, c := range []struct {
		name   string
		faults Faults
		do     []func(*faulty)
		hit    bool
	}{
		{"none", Faults{}, []func(*faulty){write, sync}, false},
		{"the second write fails, one write", Faults{FailWrite: 2}, []func(*faulty){write, sync}, false},
		{"the second write fails", Faults{FailWrite: 2}, []func(*faulty){write, write}, true},
		{"the second write is torn, one write", Faults{TornWrite: 2}, []func(*faulty){write, sync}, false},
		{"the second write is torn", Faults{TornWrite: 2}, []func(*faulty){write, write}, true},
		{"syncs are slow, no sync", Faults{SyncDelay: time.Hour}, []func(*faulty){write}, false},
		{"syncs are slow", Faults{SyncDelay: time.Hour}, []func(*faulty){sync}, true},
		{"syncs lie, no sync", Faults{SyncLies: true}, []func(*faulty){write}, false},
		{"syncs lie", Faults{SyncLies: true}, []func(*faulty){sync}, true},
	} {
		var f faulty
		f.inject(c.faults)
		for _, do := range c.do {
			do(&f)
		}
		if f.came() != c.hit {
			t.Errorf("%s: came() = %t, want %t", c.name, f.came(), c.hit)
		}
		f.inject(Faults{})
		if f.came() {
			t.Errorf("%s: came() = true after healing, want false", c.name)
		}
	}
}
