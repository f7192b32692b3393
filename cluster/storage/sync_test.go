package storage

import (
	"path/filepath"
	"reflect"
	"testing"
)

// TestStoreIsOpenedWithSync looks at how the product opens the store: no system reports everywhere what a
// disk would hold after a power cut.
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
