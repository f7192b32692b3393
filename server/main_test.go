package server_test

import (
	"flag"
	"os"
	"testing"

	"github.com/snowraft/snowraft/internal/race"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests of whole clusters usually wait, so more tests than processors may run at the same time.
	if !race.Enabled && flag.Set("test.parallel", "6") != nil {
		os.Exit(2)
	}
	os.Exit(m.Run())
}
