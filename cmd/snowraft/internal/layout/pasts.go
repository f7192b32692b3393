package layout

import (
	"slices"

	"github.com/snowraft/snowraft/internal/collision"
	"github.com/snowraft/snowraft/snowflake"
)

// pair is a layout with a past, and another layout of the cluster that can make IDs of that past: equal bits, with other times.
type pair struct {
	Layout string `json:"layout"`
	Other  string `json:"other"`
}

// pairsWith returns the pairs in which one of the layouts is.
func pairsWith(layouts []*snowflake.Layout, pairs []pair) (with []pair) {
	for _, p := range pairs {
		if slices.ContainsFunc(layouts, func(l *snowflake.Layout) bool { return l.Name() == p.Layout || l.Name() == p.Other }) {
			with = append(with, p)
		}
	}
	return with
}

// pairsOf returns the pairs among layouts. The IDs that the other layout has issued count, and so does its own past.
func pairsOf(layouts []*snowflake.Layout, now int64) (pairs []pair) {
	for _, l := range layouts {
		if !l.Spec().Past {
			continue
		}
		past := collision.All(l, l.MillisAt(0), now).With(l, snowflake.FieldDatacenter, l.Spec().Datacenter)
		for _, other := range layouts {
			if other == l {
				continue
			}
			if _, _, meets := collision.MeetIssued(past, other, other.MillisAt(0)-1); meets {
				pairs = append(pairs, pair{l.Name(), other.Name()})
			}
		}
	}
	return pairs
}
