package client

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"strconv"
	"sync"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// Numbers is a series of Count numbers: First, First + Increment, and so on. All fit into an int64.
type Numbers struct {
	First     int64
	Count     int
	Increment int64 // not 0; may be negative
	// Period is the period that the numbers belong to; 0 if the sequence has no reset.
	Period sequence.Period
}

// At returns the number at an index, which is at least 0 and less than Count.
func (n Numbers) At(index int) int64 {
	return int64(uint64(n.First) + uint64(index)*uint64(n.Increment)) // only intermediate results may wrap around
}

// All yields the numbers in their order.
func (n Numbers) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for index := range n.Count {
			if !yield(n.At(index)) {
				return
			}
		}
	}
}

// fits reports whether count numbers, at least 1, are all different and fit into an int64.
func fits(first, increment int64, count uint64) bool {
	step, room := uint64(increment), uint64(math.MaxInt64)-uint64(first)
	if increment < 0 {
		step, room = -step, uint64(first)-1<<63
	}
	over, span := bits.Mul64(count-1, step)
	return increment != 0 && over == 0 && span <= room
}

// numbering is a member's answer, for all callers of the request.
type numbering struct {
	Numbers
	written []string // the numbers as text; nil if write formats them
	write   func() (func(number int64) string, error)
}

// newNumbering converts the answer to a request for count numbers. It returns an error if the answer does not match.
func newNumbering(resp *snowraftv1.NextNumbersResponse, count uint64) (*numbering, error) {
	period, err := sequence.ParsePeriod(resp.GetPeriod())
	if err != nil {
		return nil, malformed("numbers of the period %q", resp.GetPeriod())
	}
	n := &numbering{
		Numbers: Numbers{First: resp.GetFirst(), Count: int(resp.GetCount()), Increment: resp.GetIncrement(), Period: period},
		written: resp.GetTexts(),
	}
	if uint64(resp.GetCount()) != count || !fits(n.First, n.Increment, count) || len(n.written) > 0 && len(n.written) != n.Count {
		return nil, malformed("%d numbers from %d by %d and %d texts instead of the %d numbers requested",
			resp.GetCount(), n.First, n.Increment, len(n.written), count)
	}
	n.write = sync.OnceValues(func() (func(int64) string, error) { return writer(resp) })
	return n, nil
}

// part returns count numbers that start at an index.
func (n *numbering) part(from, count uint64) Numbers {
	return Numbers{First: n.At(int(from)), Count: int(count), Increment: n.Increment, Period: n.Period}
}

// texts returns count numbers that start at an index, as text.
func (n *numbering) texts(from, count uint64) ([]string, error) {
	if n.written != nil {
		return append([]string(nil), n.written[from:from+count]...), nil
	}
	write, err := n.write()
	if err != nil {
		return nil, err
	}
	texts := make([]string, count)
	for i := range texts {
		texts[i] = write(n.At(int(from) + i))
	}
	return texts, nil
}

// writer returns a function that formats a number of an answer. Members format the numbers of short answers.
func writer(resp *snowraftv1.NextNumbersResponse) (func(int64) string, error) {
	if resp.GetFormat() == "" {
		return func(number int64) string { return strconv.FormatInt(number, 10) }, nil
	}
	starts, err := sequence.ParseYearStart(resp.GetYearStarts())
	if err != nil {
		return nil, fmt.Errorf("client: issued numbers have a start of years that this program does not know; upgrade this program: %w", err)
	}
	f, err := sequence.Calendar{YearStarts: starts}.ParseFormat(resp.GetFormat())
	if err != nil {
		return nil, fmt.Errorf("client: issued numbers have a format that this program does not know; upgrade this program: %w", err)
	}
	if f.NeedsKey() {
		return nil, malformed("numbers without the texts of the format %q, which only members can write", resp.GetFormat())
	}
	location, err := sequence.LoadLocation(resp.GetTimeZone())
	if err != nil {
		return nil, fmt.Errorf("client: issued numbers have a time zone that this program does not know; upgrade this program: %w", err)
	}
	at := time.UnixMilli(resp.GetIssuedAtMs()).In(location)
	return func(number int64) string { return string(f.Append(nil, number, at)) }, nil
}
