package cluster_test

import (
	"flag"
	"os"
	"testing"

	"github.com/snowraft/snowraft/internal/test/race" //nolint:depguard // a constant of the build, for tests only
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests of whole clusters spend most of their time waiting, so more of them may run at a time than there are processors.
	if !race.Enabled && flag.Set("test.parallel", "6") != nil {
		os.Exit(2)
	}
	os.Exit(m.Run())
}
