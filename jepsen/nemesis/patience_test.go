//go:build linux

package nemesis

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/schedstat"
)

// The time for which one of the processes waited for a processor is not counted.
func TestPatienceIgnoresStalls(t *testing.T) {
	t.Parallel()
	earlier := map[uint32]schedstat.Times{0: {Ran: 10, Waited: 10}, 1: {Ran: 10, Waited: 10}, 2: {}}
	for _, c := range []struct {
		name  string
		later map[uint32]schedstat.Times
		want  time.Duration
	}{
		{"idle", map[uint32]schedstat.Times{0: earlier[0], 1: earlier[1]}, 100},
		{"running", map[uint32]schedstat.Times{0: {Ran: 110, Waited: 10}, 1: earlier[1]}, 100},
		{"one waits", map[uint32]schedstat.Times{0: earlier[0], 1: {Ran: 20, Waited: 40}}, 70},
		{"two wait", map[uint32]schedstat.Times{0: {Ran: 10, Waited: 110}, 1: {Ran: 20, Waited: 40}}, 0},
		{"a new process waits", map[uint32]schedstat.Times{0: earlier[0], 3: {Waited: 90}}, 100},
	} {
		if got := progress(earlier, c.later, 100); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
