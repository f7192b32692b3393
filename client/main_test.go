package client_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, ofRaft) }

// ofRaft leaves out connections that Raft's library closes when their other end does.
var ofRaft = goleak.IgnoreAnyFunction("github.com/hashicorp/raft.(*NetworkTransport).handleConn")
