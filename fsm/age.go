package fsm

// The heaps of workers.byAge and workers.ofToken. They are container/heap, written out so that a change of
// one worker's high-water costs no interface call; each worker knows its places.

// ages is a binary heap of used workers, the one with the lowest high-water on top, by number among equals.
type ages []int

// The heaps that can hold a worker, as indexes of worker.place.
const (
	inLayout = iota // one of workers.byAge
	inToken         // one of workers.ofToken
	heaps
)

// agesOf returns the heap of the layout that a worker belongs to.
func (w *workers) agesOf(number int) *ages {
	if uint64(number) < w.common {
		return &w.byAge[0]
	}
	return &w.byAge[1]
}

// fixAge restores the order after a worker changed.
func (w *workers) fixAge(number int) {
	w.fix(inLayout, *w.agesOf(number), w.at(number).place[inLayout])
	if owner := w.at(number).owner; owner != 0 {
		w.fix(inToken, w.ofToken[owner], w.at(number).place[inToken])
	}
}

// own puts a worker into the heap of its owner.
func (w *workers) own(number int) {
	if owner := w.at(number).owner; owner != 0 {
		h := w.ofToken[owner]
		w.push(inToken, &h, number)
		w.ofToken[owner] = h
	}
}

// disown takes a worker out of the heap of its owner.
func (w *workers) disown(number int) {
	owner := w.at(number).owner
	if owner == 0 {
		return
	}
	h, place := w.ofToken[owner], w.at(number).place[inToken]
	last := len(h) - 1
	w.swapAge(inToken, h, place, last)
	if h = h[:last]; last == 0 {
		delete(w.ofToken, owner)
		return
	}
	w.ofToken[owner] = h
	if place < last {
		w.fix(inToken, h, place)
	}
}

// buildAge makes the heaps of all used workers.
func (w *workers) buildAge() {
	w.byAge = [2]ages{make(ages, 0, min(w.common, uint64(w.count())))}
	w.ofToken = map[uint64]ages{}
	for number := range w.count() {
		w.push(inLayout, w.agesOf(number), number)
		w.own(number)
	}
}

func (w *workers) push(in int, h *ages, number int) {
	*h = append(*h, number)
	w.at(number).place[in] = len(*h) - 1
	w.raiseAge(in, *h, len(*h)-1)
}

func (w *workers) fix(in int, h ages, place int) {
	if !w.sinkAge(in, h, place) {
		w.raiseAge(in, h, place)
	}
}

func (w *workers) raiseAge(in int, h ages, place int) {
	for place > 0 {
		parent := (place - 1) / 2
		if !w.older(h[place], h[parent]) {
			return
		}
		w.swapAge(in, h, place, parent)
		place = parent
	}
}

// sinkAge moves the worker at a place down and reports whether it moved.
func (w *workers) sinkAge(in int, h ages, place int) bool {
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
		w.swapAge(in, h, place, child)
		place = child
	}
	return place > start
}

// older reports whether the worker m comes before the worker n.
func (w *workers) older(m, n int) bool {
	if a, b := w.see(m).highWater, w.see(n).highWater; a != b {
		return a < b
	}
	return m < n
}

func (w *workers) swapAge(in int, h ages, a, b int) {
	h[a], h[b] = h[b], h[a]
	w.at(h[a]).place[in] = a
	w.at(h[b]).place[in] = b
}
