package client_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/snowraft/snowraft/internal/test/race"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests of whole clusters usually wait, so more of them can run in parallel than there are processors.
	if !race.Enabled && flag.Set("test.parallel", "6") != nil {
		os.Exit(2)
	}
	goleak.VerifyTestMain(m, ofRaft, unanswered)
}

// ofRaft omits connections that the Raft library closes when their other end does.
var ofRaft = goleak.IgnoreAnyFunction("github.com/hashicorp/raft.(*NetworkTransport).handleConn")

// unanswered omits what waits for a future that Raft's library left unanswered when it shut down.
var unanswered = goleak.IgnoreAnyFunction("github.com/snowraft/snowraft/cluster.outcome.func1")
