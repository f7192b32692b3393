package fsm

// The heaps of workers.byAge. They are container/heap, written out so that a change of
// one worker's high-water costs no interface call; each worker knows its place.

// ages is a binary heap of used workers, the one with the lowest high-water on top, by number among equals.
type ages []int

// agesOf returns the heap that a worker belongs to.
func (w *workers) agesOf(number int) *ages {
	if uint64(number) < w.common {
		return &w.byAge[0]
	}
	return &w.byAge[1]
}

func (w *workers) pushAge(number int) {
	h := w.agesOf(number)
	*h = append(*h, number)
	w.used[number].place = len(*h) - 1
	w.raiseAge(*h, len(*h)-1)
}

// fixAge restores the order after a worker changed.
func (w *workers) fixAge(number int) {
	h, place := *w.agesOf(number), w.used[number].place
	if !w.sinkAge(h, place) {
		w.raiseAge(h, place)
	}
}

// buildAge makes the heaps of all used workers.
func (w *workers) buildAge() {
	w.byAge = [2]ages{make(ages, 0, min(w.common, uint64(len(w.used))))}
	for number := range w.used {
		h := w.agesOf(number)
		w.used[number].place = len(*h)
		*h = append(*h, number)
	}
	for _, h := range w.byAge {
		for place := len(h)/2 - 1; place >= 0; place-- {
			w.sinkAge(h, place)
		}
	}
}

func (w *workers) raiseAge(h ages, place int) {
	for place > 0 {
		parent := (place - 1) / 2
		if !w.older(h[place], h[parent]) {
			return
		}
		w.swapAge(h, place, parent)
		place = parent
	}
}

// sinkAge moves the worker at a place down and reports whether it moved.
func (w *workers) sinkAge(h ages, place int) bool {
	start := place
	for {
		child := 2*place + 1
		if child >= len(h) {
			break
		}
		if right := child + 1; right < len(h) && w.older(h[right], h[child]) {
			child = right
		}
		if !w.older(h[child], h[place]) {
			break
		}
		w.swapAge(h, place, child)
		place = child
	}
	return place > start
}

// older reports whether the worker m comes before the worker n.
func (w *workers) older(m, n int) bool {
	if w.used[m].highWater != w.used[n].highWater {
		return w.used[m].highWater < w.used[n].highWater
	}
	return m < n
}

func (w *workers) swapAge(h ages, a, b int) {
	h[a], h[b] = h[b], h[a]
	w.used[h[a]].place = a
	w.used[h[b]].place = b
}
