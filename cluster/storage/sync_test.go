package storage

import (
	"path/filepath"
	"reflect"
	"testing"
)

// TestStoreIsOpenedWithSync checks the options with which the product opens the store, because not every system reports the
// pages that a power cut would lose.
func TestStoreIsOpenedWithSync(t *testing.T) {
	bolt, err := openBolt(filepath.Join(t.TempDir(), logFile))
	if err != nil {
		t.Fatal(err)
	}
	defer bolt.Close()
	db := reflect.ValueOf(bolt).Elem().FieldByName("conn").Elem()
	for _, field := range []string{"NoSync", "NoGrowSync"} {
		if db.FieldByName(field).Bool() {
			t.Errorf("bbolt was opened with %s", field)
		}
	}
}
