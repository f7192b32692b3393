package console

import (
	"maps"
	"slices"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Percent exports percent.
var Percent = percent

// AdviceAnchors returns the headings of the runbook that events link to.
func AdviceAnchors() []string {
	anchors := slices.Collect(maps.Values(adviceByReason))
	for kind := range snowraftv1.EventKind_name {
		for severity := range snowraftv1.EventSeverity_name {
			anchor, _ := adviceFor(&snowraftv1.Event{Kind: snowraftv1.EventKind(kind), Severity: snowraftv1.EventSeverity(severity)})
			if anchor != "" {
				anchors = append(anchors, anchor)
			}
		}
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
