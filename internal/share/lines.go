// Package share lets many callers share one call for numbers. While a call for a sequence is in progress, further callers
// wait, and the next call serves as many of them as it can. [Calls] makes the calls; [Lines] holds the waiting callers
// for event loops that make the calls themselves.
package share

import "slices"

// Key names a line. Only callers on whose behalf the same principal requests the same sequence share a call, so that each
// call has one principal.
type Key struct {
	Sequence  string
	Principal any // comparable; nil where all callers are alike
}

// Lines holds the callers that wait for numbers, in a line for each key. A line exists while callers wait in it or its
// call is in progress. One goroutine at a time may use Lines and its lines.
type Lines[T comparable] struct {
	limit uint64 // numbers per call
	byKey map[Key]*Line[T]
}

// Line holds the callers of one key, in the order in which they came.
type Line[T comparable] struct {
	Key     Key
	waiting []Seat[T]
}

// Seat is one caller's part of a call.
type Seat[T comparable] struct {
	Caller T
	Count  uint64 // numbers wanted
}

// NewLines returns empty Lines. A call requests at most limit numbers, or all that one caller wants.
func NewLines[T comparable](limit uint64) Lines[T] {
	return Lines[T]{limit: limit, byKey: make(map[Key]*Line[T])}
}

// Len returns the number of lines in which callers wait or whose call is in progress.
func (l *Lines[T]) Len() int { return len(l.byKey) }

// Join adds a caller that wants count numbers. If no call is in progress, idle is
// true and the caller of Join must board the line.
func (l *Lines[T]) Join(key Key, count uint64, caller T) (line *Line[T], idle bool) {
	line = l.byKey[key]
	if idle = line == nil; idle {
		line = &Line[T]{Key: key}
		l.byKey[key] = line
	}
	line.waiting = append(line.waiting, Seat[T]{caller, count})
	return line, idle
}

// Board takes the callers that the next call serves, in order, and returns them with the sum of the
// numbers that they want. When the call is over, the line must be boarded again. If no caller waits in
// the line, Board closes it and returns no seats.
func (l *Lines[T]) Board(line *Line[T]) (seats []Seat[T], total uint64) {
	if len(line.waiting) == 0 {
		delete(l.byKey, line.Key)
		return nil, 0
	}
	n := 0
	for n < len(line.waiting) && (n == 0 || total+line.waiting[n].Count <= l.limit) {
		total += line.waiting[n].Count
		n++
	}
	seats, line.waiting = line.waiting[:n:n], line.waiting[n:]
	return seats, total
}

// Leave removes a caller unless a call serves it already.
func (l *Line[T]) Leave(caller T) {
	l.waiting = slices.DeleteFunc(l.waiting, func(s Seat[T]) bool { return s.Caller == caller })
}

// Waiting returns the number of callers that no call serves yet.
func (l *Line[T]) Waiting() int { return len(l.waiting) }
