package web

import (
	"fmt"
	"math"
	"net/http"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Segments have about as many numbers as a step of tinyid. A client requests the next one once it has used a fifth.
const (
	segmentNumbers = 10_000
	usedBeforeNext = segmentNumbers / 5
)

// tinyidSegment is a range of numbers that a client of tinyid issues itself: those above current and up to max that leave the
// remainder when divided by delta. From loading on, the client requests the next segment.
type tinyidSegment struct {
	Max       int64 `json:"maxId"`
	Loading   int64 `json:"loadingId"`
	Current   int64 `json:"currentId"`
	Delta     int64 `json:"delta"`
	Remainder int64 `json:"remainder"`
}

func (h *handler) nextSegment(w http.ResponseWriter, r *http.Request, _ string) error {
	s, err := h.segmentOf(r)
	if err == nil {
		writeSpring(w, http.StatusOK, tinyidAnswer{Data: s, Code: tinyidOK})
	}
	return err
}

func (h *handler) nextSegmentSimple(w http.ResponseWriter, r *http.Request, _ string) error {
	s, err := h.segmentOf(r)
	if err == nil {
		writeText(w, springText, fmt.Appendf(nil, "%d,%d,%d,%d,%d", s.Current, s.Loading, s.Max, s.Delta, s.Remainder))
	}
	return err
}

// segmentOf takes a block of a relaxed sequence.
func (h *handler) segmentOf(r *http.Request) (s tinyidSegment, err error) {
	if err := parseTinyid(r); err != nil {
		return s, err
	}
	r, name, err := h.tinyidCaller(r)
	if err != nil {
		return s, err
	}
	err = h.takeBlock(r.Context(), name, segmentNumbers, func(b *snowraftv1.Block) (err error) {
		s, err = newSegment(b)
		return err
	})
	return s, err
}

// newSegment returns a block as a segment, whose arithmetic is that of tinyid's SegmentId.
func newSegment(b *snowraftv1.Block) (s tinyidSegment, err error) {
	first, delta := b.GetFirst(), b.GetIncrement()
	switch {
	case b.GetPeriod() != "":
		return s, unfit("tinyid", "begins again in each period", "use nextId")
	case delta < 1 || delta > math.MaxInt32 || first < 0:
		return s, unfit("tinyid", "has negative numbers, or an increment that tinyid does not have", "use nextId")
	}
	last := first + int64(b.GetCount()-1)*delta //nolint:gosec // a block lies within 64 bits
	if crowded(last, delta) {
		return s, unfit("tinyid", "has numbers near the end of the 64-bit numbers", "use nextId")
	}
	used := min(usedBeforeNext, int64(b.GetCount())/5) * delta //nolint:gosec // less than a block
	return tinyidSegment{Max: last, Loading: first + used, Current: first - delta, Delta: delta, Remainder: first % delta}, nil
}
