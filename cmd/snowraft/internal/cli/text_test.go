package cli

import "testing"

func TestHuman(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{0: "0s", 1: "1ms", 500: "500ms", 1000: "1s", 60_000: "1m", 90_000: "1m30s", 600_000: "10m", 3_600_000: "1h", 86_400_000: "24h", 3_601_000: "1h0m1s"} {
		if got := Milliseconds(ms); got != want {
			t.Errorf("%d ms is %s, want %s", ms, got, want)
		}
	}
}
