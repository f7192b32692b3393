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
