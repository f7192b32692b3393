//go:build mutants

package storage

import (
	"testing"

	"github.com/snowraft/snowraft/internal/mutant"
)

func TestPlantedNoSyncIsCaught(t *testing.T) {
	defer mutant.Plant(mutant.NoSync)()
	if unwritten(t) == 0 {
		t.Error("not caught")
	}
}
