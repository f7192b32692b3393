package migrate

import (
	"context"
	"strings"
	"testing"
)

// movingSource is a source whose counters change between two reads.
type movingSource struct {
	source
	reads [][]counter
}

func (s *movingSource) counters(context.Context, func(string) bool) (now []counter, err error) {
	now, s.reads = s.reads[0], s.reads[1:]
	return now, nil
}

// The statement that no program draws numbers is refuted by a counter that moves.
func TestMovingCountersAreRefused(t *testing.T) {
	t.Parallel()
	still, moved := counter{name: "a", last: 7}, counter{name: "a", last: 8}
	for _, c := range []struct {
		again []counter
		want  string
	}{
		{[]counter{still}, ""},
		{[]counter{moved}, "a program draws numbers: it was at 7 and is at 8 now"},
		{nil, "is gone"},
	} {
		i := importer{source: &movingSource{reads: [][]counter{c.again}}}
		now, err := i.reread(t.Context(), []step{{Source: "a", counter: still}})
		switch {
		case c.want == "" && (err != nil || now["a"] != still):
			t.Errorf("%v: %v, %v", c.again, now, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: error %v, want %q", c.again, err, c.want)
		}
	}
}
