package main

import (
	"testing"
	"time"
)

func TestProcessorTime(t *testing.T) {
	t.Parallel()
	got, err := processor("42 (a) b) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0 1 0 5")
	if want := 1270 * time.Millisecond; err != nil || got != want {
		t.Errorf("%v, want %v: %v", got, want, err)
	}
	if _, err := processor("42 (a) S 1 2"); err == nil {
		t.Error("a short text has a time")
	}
}
