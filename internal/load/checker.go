package load

// checker runs a Seen in its own goroutine, so that sorting does not delay
// clients as long as the goroutine keeps up.
type checker struct {
	seen  *Seen
	full  chan []Span // buffers from the clients
	empty chan []Span // buffers for reuse by the clients
	done  chan struct{}
}

// startChecker starts a checker for the given number of clients.
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

// end stops the checker and returns the report on all buffers. swap must not be called after
// end.
func (c *checker) end() DuplicateReport {
	close(c.full)
	<-c.done
	return c.seen.Report()
}
