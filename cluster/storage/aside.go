package storage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// Aside is an earlier data directory of a host that was moved aside.
type Aside struct {
	Dir     string // empty if there is none
	Cluster string // ID of its cluster
}

// FindAside looks next to a data directory for an earlier one that was moved aside: a directory of a member of a cluster whose
// name continues the name of the data directory, as in "snowraft.old". A directory that cannot be read does not count.
func FindAside(dir string) Aside {
	if dir == "" {
		return Aside{}
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return Aside{}
	}
	parent, name := filepath.Split(whole)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return Aside{}
	}
	for _, e := range entries {
		rest, begins := strings.CutPrefix(e.Name(), name)
		if !begins || rest == "" || !strings.ContainsAny(rest[:1], ".-_~") {
			continue
		}
		var data identityData
		raw, err := os.ReadFile(filepath.Join(parent, e.Name(), identityFile))
		if err == nil && json.Unmarshal(raw, &data) == nil && data.ClusterID != "" {
			return Aside{filepath.Join(parent, e.Name()), data.ClusterID}
		}
	}
	return Aside{}
}
