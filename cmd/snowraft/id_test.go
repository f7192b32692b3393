package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/apijson"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestManyIDs(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	const n = 2_000_001
	out := succeeds(t, "id", "-n", "2000001", "--addr", f.Address)
	if lines := strings.Count(out, "\n"); lines != n {
		t.Errorf("%d lines, want %d", lines, n)
	}
	var counts []uint32
	for _, r := range f.Requests() {
		counts = append(counts, r.(*snowraftv1.GenerateIdsRequest).GetCount())
	}
	if want := []uint32{1_000_000, 1_000_000, 1}; !reflect.DeepEqual(counts, want) {
		t.Errorf("the requests are for %v, want %v", counts, want)
	}
	var listed []int
	for line := range strings.Lines(succeeds(t, "id", "-n", "1000002", "-o", "json", "--addr", f.Address)) {
		var resp snowraftv1.GenerateIdsResponse
		if err := apijson.Unmarshal([]byte(line), &resp); err != nil {
			t.Fatal(err)
		}
		listed = append(listed, len(resp.GetIds()))
	}
	if want := []int{500_000, 500_000, 2}; !slices.Equal(listed, want) {
		t.Errorf("%v IDs per line, want %v", listed, want)
	}
}

func TestManyUUIDs(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	if lines := strings.Count(succeeds(t, "id", "--uuid", "-n", "200001", "--addr", f.Address, "--timeout", "10m"), "\n"); lines != 200_001 {
		t.Errorf("%d UUIDs, want 200001", lines)
	}
	var counts []uint32
	for _, r := range f.Requests() {
		counts = append(counts, r.(*snowraftv1.GenerateUuidsRequest).GetCount())
	}
	if want := []uint32{100_000, 100_000, 1}; !reflect.DeepEqual(counts, want) {
		t.Errorf("the requests are for %v, want %v", counts, want)
	}
}

// TestEncodingsInJSON checks the only document in which IDs are not numbers.
func TestEncodingsInJSON(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	if got, want := succeeds(t, "id", "-n", "2", "--encoding", "base62", "-o", "json", "--addr", f.Address), `{"ranges":[],"ids":["IRfc3ORJcv","IRfc3ORJcw"]}`+"\n"; got != want {
		t.Errorf("prints %s, want %s", got, want)
	}
}
