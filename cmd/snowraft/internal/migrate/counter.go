package migrate

import (
	"context"
	"fmt"
	"math"
)

// counter is a counter of another system.
type counter struct {
	name string
	// last is the last number that the other system may have issued; nothing was issued if used is false. Then last is the number
	// before the first one.
	last      int64
	used      bool
	increment int64
	// fenced means that the other system refuses to issue further numbers of the counter.
	fenced bool
	note   string
}

// next returns the first number that the other system cannot have issued.
func (c counter) next() (int64, error) {
	if c.increment > 0 && c.last > math.MaxInt64-c.increment || c.increment < 0 && c.last < math.MinInt64-c.increment {
		return 0, fmt.Errorf("counter %q is at %d, the end of 64-bit numbers", c.name, c.last)
	}
	return c.last + c.increment, nil
}

// source is another system.
//
// Its invariant: after fence returned a counter, no client of the system gets a number beyond the last one of that counter.
type source interface {
	// counters returns the matching counters in ascending order of their names. It fails if one of them cannot be read: an unknown
	// number is not an unused one.
	counters(ctx context.Context, match func(name string) bool) ([]counter, error)
	// fence makes the system refuse to issue numbers of a counter, and returns the counter as it is afterwards. Repeated, it
	// changes nothing.
	fence(ctx context.Context, name string) (counter, error)
	// settle returns after the fences are durable.
	settle(ctx context.Context) error
	close()
}
