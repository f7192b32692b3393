package server_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"

	"github.com/snowraft/snowraft/internal/test/race"
)

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400) // an eighth of the time was that of the collector
	// Tests of whole clusters usually wait, so more tests than processors may run at the same time.
	if !race.Enabled && flag.Set("test.parallel", "6") != nil {
		os.Exit(2)
	}
	os.Exit(m.Run())
}
