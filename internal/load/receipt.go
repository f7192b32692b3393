package load

import "math/bits"

// bufferedSpans is the number of spans a client gathers before it hands them to the
// check, so that clients seldom meet there.
const bufferedSpans = 256

// Receipt holds the results of one client; its Caller writes it.
type Receipt struct {
	numbers uint64 // in this call
	// The fields below are nil and 0 if nothing is checked.
	check  *checker
	step   uint64
	buffer []Span
}

// Checked reports whether what is noted is looked at, rather than only counted.
func (r *Receipt) Checked() bool { return r.check != nil }

// Count notes numbers that are only counted.
func (r *Receipt) Count(n uint64) { r.numbers += n }

// Number notes one number.
func (r *Receipt) Number(n uint64) {
	r.numbers++
	if r.check != nil {
		r.note(n, n)
	}
}

// Range notes the numbers first, first + step, ..., count of them.
func (r *Receipt) Range(first, count, step uint64) {
	r.numbers += count
	if r.check == nil || count == 0 {
		return
	}
	over, length := bits.Mul64(count-1, step)
	last, carry := bits.Add64(first, length, 0)
	if over == 0 && carry == 0 && (step == r.step || count == 1) {
		r.note(first, last)
		return
	}
	for range count { // it leaves 64 bits, which is a mistake, or is another run than usual
		r.note(first, first)
		first += step
	}
}

// Numbers notes numbers; runs among them take as little as a Range.
func (r *Receipt) Numbers(ns []int64) {
	r.numbers += uint64(len(ns))
	if r.check == nil {
		return
	}
	for len(ns) > 0 {
		first, run := uint64(ns[0]), 1 //nolint:gosec // the same bits
		last := first
		for ; run < len(ns); run++ {
			n := uint64(ns[run])              //nolint:gosec // the same bits
			if n-last != r.step || n < last { // the latter wraps, which is a mistake
				break
			}
			last = n
		}
		r.note(first, last)
		ns = ns[run:]
	}
}

// note keeps a span, within the one before if it goes on there.
func (r *Receipt) note(first, last uint64) {
	if n := len(r.buffer); n > 0 {
		before := &r.buffer[n-1]
		if first > before.Last && first-before.Last == r.step {
			before.Last = last
			return
		}
	}
	r.buffer = append(r.buffer, Span{First: first, Last: last})
	if len(r.buffer) == bufferedSpans {
		r.flush()
	}
}

// flush hands what was gathered to the check.
func (r *Receipt) flush() {
	if r.check == nil || len(r.buffer) == 0 {
		return
	}
	r.buffer = r.check.swap(r.buffer)
}
