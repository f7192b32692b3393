package main

import (
	"errors"
	"testing"
	"time"
)

func TestPercentilesOfSamples(t *testing.T) {
	t.Parallel()
	var hundred samples
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, c := range []struct {
		of      samples
		percent int
		want    float64
	}{
		{nil, 50, 0},
		{samples{7}, 50, 7},
		{samples{7}, 0, 7},
		{samples{9, 1, 5}, 50, 5},
		{samples{9, 1, 5}, 99, 9},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
	} {
		if got := c.of.percentile(c.percent); got != c.want {
			t.Errorf("%d %% of %v is %v, want %v", c.percent, c.of, got, c.want)
		}
	}
}

func TestBursts(t *testing.T) {
	t.Parallel()
	calls := 0
	f, err := burstTurn(func() error { calls++; return nil })(t.Context(), 5*time.Millisecond)
	if err != nil || calls == 0 || calls%burst != 0 || f[p99] < f[p50] || f[longest] < f[p99] {
		t.Errorf("%v, %v after %d calls", f, err, calls)
	}
	broken := errors.New("broken")
	if _, err := burstTurn(func() error { return broken })(t.Context(), time.Hour); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}
