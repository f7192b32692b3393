package sdnotify

import (
	"strconv"
	"testing"
	"time"
)

func TestNotifyReachesAbstractSockets(t *testing.T) {
	t.Parallel()
	name := "@snowraft-test-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	conn := listen(t, name)
	m, err := Open(environment(socketVariable, name), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Notify(Stopping); err != nil {
		t.Fatal(err)
	}
	if got := read(t, conn); got != "STOPPING=1" {
		t.Errorf("datagram %q", got)
	}
}
