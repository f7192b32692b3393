// Package lives keeps apart the lives of the same cluster. A cluster that was restored from a backup is a later life of the cluster of
// that backup. Lives have different cluster IDs, and each knows the IDs of all lives before it. Two lives that run at the same
// time could issue the same, so the later one stops.
package lives

import (
	"slices"
)

// Lives is the knowledge in the state about other lives of the cluster. Its zero value means that the cluster was not restored.
type Lives struct {
	Ancestors  []string    // IDs of all clusters before this one, oldest first
	Superseded []string    // IDs of the clusters that an operator stopped for good in favor of this cluster
	OldMembers []OldMember // members of the last cluster before this one, at the time of the backup
	FencedMs   int64       // until this time, in Unix ms, the old members are looked for often
}

// OldMember is a member of the cluster before this one.
type OldMember struct{ ID, Name, RaftAddress string }

// parent returns the ID of the last cluster before this one; the cluster must have an ancestor.
func (l Lives) parent() string { return l.Ancestors[len(l.Ancestors)-1] }

// Relation is the place of another cluster in the ancestry of this one.
type Relation int

const (
	// Unrelated clusters have no ancestor in common.
	Unrelated Relation = iota
	// Same is this cluster itself.
	Same
	// Older is an ancestor of this cluster.
	Older
	// Younger is a cluster of which this one is an ancestor.
	Younger
	// Sibling clusters have an ancestor in common, and neither is an ancestor of the other.
	Sibling
)

// relationOf returns the relation of the other life to one's own. Each has its ID and its ancestors.
func relationOf(own, other Message) Relation {
	switch {
	case other.Cluster == own.Cluster:
		return Same
	case slices.Contains(own.Ancestors, other.Cluster):
		return Older
	case slices.Contains(other.Ancestors, own.Cluster):
		return Younger
	case slices.ContainsFunc(own.Ancestors, func(id string) bool { return slices.Contains(other.Ancestors, id) }):
		return Sibling
	}
	return Unrelated
}
