package simtest

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // a twelfth of the time was that of the collector
	os.Exit(m.Run())
}
