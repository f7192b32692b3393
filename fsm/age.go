package fsm

// The heap of workers.byAge. It is container/heap, written out so that a change of
// one worker's high-water costs no interface call; each worker knows its place.

func (w *workers) pushAge(number int) {
	w.byAge = append(w.byAge, number)
	w.used[number].place = len(w.byAge) - 1
	w.raiseAge(len(w.byAge) - 1)
}

// fixAge restores the order after the worker at a place changed.
func (w *workers) fixAge(place int) {
	if !w.sinkAge(place) {
		w.raiseAge(place)
	}
}

// buildAge makes the heap of all used workers.
func (w *workers) buildAge() {
	w.byAge = make([]int, len(w.used))
	for number := range w.used {
		w.byAge[number] = number
		w.used[number].place = number
	}
	for place := len(w.byAge)/2 - 1; place >= 0; place-- {
		w.sinkAge(place)
	}
}

func (w *workers) raiseAge(place int) {
	for place > 0 {
		parent := (place - 1) / 2
		if !w.olderAt(place, parent) {
			return
		}
		w.swapAge(place, parent)
		place = parent
	}
}

// sinkAge moves the worker at a place down and reports whether it moved.
func (w *workers) sinkAge(place int) bool {
	start := place
	for {
		child := 2*place + 1
		if child >= len(w.byAge) {
			break
		}
		if right := child + 1; right < len(w.byAge) && w.olderAt(right, child) {
			child = right
		}
		if !w.olderAt(child, place) {
			break
		}
		w.swapAge(place, child)
		place = child
	}
	return place > start
}

// olderAt reports whether the worker at place a comes before the one at place b.
func (w *workers) olderAt(a, b int) bool {
	m, n := w.byAge[a], w.byAge[b]
	if w.used[m].highWater != w.used[n].highWater {
		return w.used[m].highWater < w.used[n].highWater
	}
	return m < n
}

func (w *workers) swapAge(a, b int) {
	w.byAge[a], w.byAge[b] = w.byAge[b], w.byAge[a]
	w.used[w.byAge[a]].place = a
	w.used[w.byAge[b]].place = b
}
