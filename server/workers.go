package server

import (
	"github.com/snowraft/snowraft/fsm"
)

// workersAtOnce is the number of workers that are read in one lock of the state. Commands wait for that time, about 0.1 ms.
const workersAtOnce = 1024

// heldWorkers returns the number of workers of a layout whose windows have not ended at now, Unix ms.
func heldWorkers(replica *fsm.Machine, info fsm.LayoutInfo, now int64) (held uint64) {
	tick := info.Layout.TickAt(now)
	for from := uint64(0); from < info.Used; from += workersAtOnce {
		replica.View(func(s *fsm.State) {
			for _, r := range s.Workers(info.Layout.Name(), from, workersAtOnce) {
				if !r.Released && r.Until > tick {
					held++
				}
			}
		})
	}
	return held
}
