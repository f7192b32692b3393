package main

import (
	"strings"
	"testing"
)

func TestEventsNameUnreachedMembers(t *testing.T) {
	t.Parallel()
	f := newFakeAPI(t)
	f.unreached = []string{"b", "c"}
	stdout, stderr, code := command(t, "events", "--addr", f.address)
	if want := "events missing, because these members did not answer in time: b, c"; code != 0 || !strings.Contains(stderr, want) || !strings.Contains(stdout, "delete sequence") {
		t.Errorf("exit code %d, %s%s, want %s", code, stdout, stderr, want)
	}
}
