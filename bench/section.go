package main

import (
	"context"
	"slices"
)

// section is one table of the documentation.
type section struct {
	// name is the name in the markers.
	name  string
	title string
	// page is the file in docs with the markers; empty for performance.md.
	page string
	// long sections take minutes and run only on request.
	long    bool
	measure func(ctx context.Context, e *env) (*table, error)
}

// sections returns all sections in the order in which they are measured.
func sections() []section {
	return append([]section{
		inProcess(),
		unary(),
		security(),
		traces(),
		profile(),
		collector(),
		batches(),
		startup(),
		coalescing(),
		timestamps(),
		streamed(),
		strict(),
		buffer(),
		embedded(),
		firstID(),
		failover(),
		backups(),
		backfills(),
		templated(),
		tenantState(),
		voidState(),
		gateways(),
		modes(),
		plainHTTP(),
		redisProtocol(),
		plain(),
		idle(),
		consoles(),
		crowded(),
		scaleLoad(),
		scaleSequences(),
	}, slices.Concat(embeddedClients(), []section{strictClients()}, suites(), scales())...)
}

// file returns the name of the page with the section's table.
func (s section) file() string {
	if s.page == "" {
		return "performance.md"
	}
	return s.page
}

func names() (all []string) {
	for _, s := range sections() {
		all = append(all, s.name)
	}
	return all
}
