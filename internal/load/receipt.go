package load

import "math/bits"

// bufferedSpans is the number of spans that a client gathers before it passes them to the
// check. It is large enough that clients seldom contend for the check.
const bufferedSpans = 256

// Receipt collects the numbers that one client gets. Only the client's Caller writes it,
// during its Call.
type Receipt struct {
	numbers uint64 // count of this call
	// The fields below are nil and 0 without a check.
	check  *checker
	step   uint64
	buffer []Span
}

// Count counts n numbers that are not checked for duplicates.
func (r *Receipt) Count(n uint64) { r.numbers += n }

// Number records one number.
func (r *Receipt) Number(n uint64) {
	r.numbers++
	if r.check != nil {
		r.note(n, n)
	}
}

// Range records count numbers: first, first + step, ...
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
	for range count { // the range exceeds 64 bits, which is an error of the server, or has another step
		r.note(first, first)
		first += step
	}
}

// note records a span. It extends the span before if the new one continues it.
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

// flush passes the gathered spans to the check.
func (r *Receipt) flush() {
	if r.check == nil || len(r.buffer) == 0 {
		return
	}
	r.buffer = r.check.swap(r.buffer)
}
