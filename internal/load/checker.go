package load

// checker is a Seen at work in a goroutine of its own, so that its sorting delays
// no client as long as it keeps up.
type checker struct {
	seen  *Seen
	full  chan []Span // from the clients
	empty chan []Span // back to them
	done  chan struct{}
}

// startChecker starts a check for so many clients.
func startChecker(seen *Seen, clients int) *checker {
	waiting := 4*clients + 64
	c := &checker{seen: seen, full: make(chan []Span, waiting), empty: make(chan []Span, waiting), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for buffer := range c.full {
			c.seen.Add(buffer)
			select {
			case c.empty <- buffer[:0]:
			default:
			}
		}
	}()
	return c
}

// swap takes a full buffer and returns an empty one.
func (c *checker) swap(buffer []Span) []Span {
	c.full <- buffer
	select {
	case other := <-c.empty:
		return other
	default:
		return make([]Span, 0, bufferedSpans)
	}
}

// end returns the report on all that was handed over; nothing may be handed over
// anymore.
func (c *checker) end() DuplicateReport {
	close(c.full)
	<-c.done
	return c.seen.Report()
}
