//go:build mutants

package storage

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/snowraft/snowraft/internal/mutant"
)

func TestPlantedNoSyncIsSeen(t *testing.T) {
	for _, bug := range []mutant.Bug{"", mutant.NoSync} {
		t.Run(fmt.Sprintf("bug=%s", bug), func(t *testing.T) {
			defer mutant.Plant(bug)()
			if err := unsynced(t); (err != nil) != (bug != "") {
				t.Errorf("found %v", err)
			}
		})
	}
}

// unsynced looks whether what a store has taken is on the disk. How the product opens it is what is
// looked at: nobody can tell from outside what a disk would hold after a power cut.
func unsynced(t *testing.T) error {
	bolt, err := openBolt(filepath.Join(t.TempDir(), logFile))
	if err != nil {
		t.Fatal(err)
	}
	defer bolt.Close()
	db := reflect.ValueOf(bolt).Elem().FieldByName("conn").Elem()
	for _, field := range []string{"NoSync", "NoGrowSync"} {
		if db.FieldByName(field).Bool() {
			return fmt.Errorf("bbolt was opened with %s", field)
		}
	}
	return nil
}
