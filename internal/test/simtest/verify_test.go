package simtest

import (
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/fsm"
)

// watchClocks continuously checks whether an observed clock is too far ahead.
func (w *world) watchClocks() (stop func()) {
	end := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			for _, n := range w.live() {
				p := n.proc()
				if p == nil || p.opened() == nil {
					continue
				}
				observed := time.UnixMilli(p.opened().State().Observed().Load())
				if ahead := time.Until(observed); ahead > w.audit.ahead() {
					w.audit.fault("the observed clock of %s is %v ahead", n.name, ahead)
				}
			}
		}
	}()
	return func() { close(end); <-done }
}

// verify runs the final audit on the state that the live members agree on.
func (w *world) verify() {
	w.Helper()
	if state := w.agreed(); state != nil {
		state.View(w.audit.granted)
	}
	w.audit.mu.Lock()
	faults := w.audit.faults
	w.audit.mu.Unlock()
	for _, f := range faults {
		w.Error(f)
	}
	if len(w.sequences) > 0 {
		w.Log(w.numbers)
	}
	if idle := w.numbers.idle(); idle != "" {
		w.Errorf("the audit of sequences lacks events: %s", idle)
	}
	judged := uint64(0)
	for _, n := range w.live() {
		judged += n.proc().member.Node().ClaimsJudged()
	}
	w.Logf("%d IDs in %d ranges, %d requests refused, %d processes, %d watermarks judged, %v",
		w.audit.ids, len(w.audit.taken), w.audit.refused, len(w.audit.starts), judged, time.Since(someDay).Round(time.Second))
}

// agreed waits until all live members are at the same index, checks that they
// have the same state there, and returns it.
func (w *world) agreed() *fsm.Machine {
	w.Helper()
	var live []*process
	type position struct {
		index  uint64
		digest [32]byte
	}
	var all []position
	deadline := time.Now().Add(30 * time.Second)
	for {
		all, live = nil, nil
		same := true
		synctest.Wait() // until no member applies a command
		for _, n := range w.nodes {
			p := n.proc()
			if p == nil {
				continue
			}
			live = append(live, p)
			all = append(all, position{index: p.member.Node().AppliedIndex()})
			same = same && all[len(all)-1].index == all[0].index
		}
		if len(live) == 0 {
			w.audit.fault("no member is left with the grants")
			return nil
		}
		if same {
			break
		}
		if time.Now().After(deadline) {
			w.audit.fault("the members do not reach the same index: %+v\n%s", all, w.status())
			break
		}
		time.Sleep(7 * time.Millisecond)
	}
	for i, p := range live {
		p.member.State().View(func(s *fsm.State) { all[i].digest = s.Digest() })
	}
	for i, p := range all {
		if p.index == all[0].index && p != all[0] {
			w.audit.fault("%s and %s have different states at index %d", live[0].name, live[i].name, p.index)
		}
	}
	return live[0].member.State()
}
