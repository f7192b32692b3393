package main

import "context"

// section is one table of docs/performance.md.
type section struct {
	// name stands in the markers.
	name  string
	title string
	// long sections take minutes: they have to be asked for.
	long    bool
	measure func(ctx context.Context, e *env) (*table, error)
}

// sections are all there are, in the order in which they are measured.
func sections() []section {
	return append([]section{
		inProcess(),
		unary(),
		batches(),
		startup(),
		plainHTTP(),
		redisProtocol(),
		// Those with the Go client and the embedded generator go here.
		idle(),
	}, suites()...)
}

func names() (all []string) {
	for _, s := range sections() {
		all = append(all, s.name)
	}
	return all
}
