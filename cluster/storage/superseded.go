package storage

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// supersededFile is the file in a data directory whose member must never run again. An earlier program ignores it.
const supersededFile = "superseded.json"

// Superseded records that a later life of the node's cluster, or a sibling, ended this one by an operator's word.
type Superseded struct {
	By string    `json:"by"` // ID of that cluster
	At time.Time `json:"at"`
}

// Supersede records durably that the node's cluster ended.
func (id *Identity) Supersede(s Superseded) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	id.superseded = &s
	if id.dir == "" {
		return nil
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return id.replace(supersededFile, raw)
}

// Superseded returns the record; nil if the cluster has not ended.
func (id *Identity) Superseded() *Superseded {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.superseded
}

// readSuperseded reads the record. A damaged one still counts, without its details.
func readSuperseded(dir string) (*Superseded, error) {
	raw, err := os.ReadFile(filepath.Join(dir, supersededFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil //nolint:nilnil // the usual case
	case err != nil:
		return nil, &unusableError{dir, err}
	}
	s := new(Superseded)
	_ = json.Unmarshal(raw, s)
	return s, nil
}
