//go:build mutants

package member

import (
	"testing"
	"testing/synctest"

	"github.com/snowraft/snowraft/internal/mutant"
)

func TestPlantedBugsAreCaught(t *testing.T) {
	defer mutant.Plant(mutant.JoinVerification)()
	synctest.Test(t, func(t *testing.T) {
		err := early()
		if err == nil {
			t.Error("not caught")
		}
		t.Log(err)
	})
}
