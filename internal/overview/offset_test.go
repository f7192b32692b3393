package overview

import "testing"

// A text that changes with each measurement would be read out each time.
func TestOffsetIsStable(t *testing.T) {
	t.Parallel()
	for want, measured := range map[string][]int64{
		"7 ms": {7}, "300 ms": {291, 300, 309}, "900 ms": {892, 895, 900, 909}, "4.4 s": {4300, 4499}, "5 s": {4998, 5002}, "12 s": {11_501, 12_499},
		"2h0m": {7_199_600, 7_200_400},
	} {
		for _, ms := range measured {
			if got := offset(ms, 0); got != want {
				t.Errorf("offset(%d) = %s, want %s", ms, got, want)
			}
		}
	}
	if got := offset(501, 500); got != "501 ms" {
		t.Errorf("offset(501) with the limit 500 = %s", got)
	}
}
