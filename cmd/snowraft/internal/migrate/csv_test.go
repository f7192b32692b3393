package migrate

import (
	"math"
	"strings"
	"testing"
)

func TestReadCSV(t *testing.T) {
	t.Parallel()
	s, err := readCSV(strings.NewReader("name,last,increment\norders,7,1\n\"a,b\",-9223372036854775808,-2\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := s.counters(t.Context(), func(string) bool { return true })
	want := []counter{{name: "orders", last: 7, used: true, increment: 1}, {name: "a,b", last: math.MinInt64, used: true, increment: -2}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := got[1].next(); err == nil {
		t.Error("a counter at its end has a next number")
	}
	for text, want := range map[string]string{
		"":                                 "EOF",
		"orders,7\n":                       "heading",
		"name,last\norders,x\n":            "line 2",
		"name,last\n\norders,1e3\n":        "line 3",
		"name,last\norders\n":              "wrong number of fields",
		"name,last,increment\na,1,0":       "other than 0",
		"name,last\na,9223372036854775808": "line 2",
	} {
		if _, err := readCSV(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
