package console

import (
	"maps"
	"slices"
)

// Percent exports percent.
var Percent = percent

// AdviceAnchors returns the headings of the runbook that events link to.
func AdviceAnchors() []string {
	anchors := slices.Collect(maps.Values(adviceByReason))
	for _, bySeverity := range adviceByKind {
		anchors = slices.AppendSeq(anchors, maps.Values(bySeverity))
	}
	slices.Sort(anchors)
	return slices.Compact(anchors)
}

// Forget drops what pages and viewers share, so that the next page shows the present.
func (c *Console) Forget() {
	c.shares.mu.Lock()
	c.shares.all = nil
	c.shares.mu.Unlock()
	c.watches.mu.Lock()
	defer c.watches.mu.Unlock()
	for key, w := range c.watches.all {
		w.used.Reset(0)
		delete(c.watches.all, key)
	}
}
