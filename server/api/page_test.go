package api

import (
	"math"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
)

func TestPageSizes(t *testing.T) {
	t.Parallel()
	for asked, want := range map[int32]int{0: 100, 1: 1, 1000: 1000, 1001: 1000, math.MaxInt32: 1000} {
		if got, err := pageSize(asked); got != want || err != nil {
			t.Errorf("pageSize(%d) = %d, %v, want %d", asked, got, err, want)
		}
	}
	for _, asked := range []int32{-1, math.MinInt32} {
		if _, err := pageSize(asked); rpc.FromError(err).Reason != rpc.InvalidArgument {
			t.Errorf("pageSize(%d) = %v, want an invalid argument", asked, err)
		}
	}
}

func TestPageTokenIsOfLastItem(t *testing.T) {
	t.Parallel()
	for found, want := range map[string][2]string{"": {"", ""}, "ab": {"ab", ""}, "abc": {"abc", ""}, "abcd": {"abc", "c"}} {
		items, next := page([]rune(found), 3, func(last rune) string { return string(last) }, func(r rune) rune { return r })
		if string(items) != want[0] || next != want[1] {
			t.Errorf("page(%q) = %q, %q, want %q", found, string(items), next, want)
		}
	}
}
