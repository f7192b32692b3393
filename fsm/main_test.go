package fsm

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	// Searches leave the states behind that they visit. Collecting them less often saves a quarter of the time.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(4 << 30)
	os.Exit(m.Run())
}
