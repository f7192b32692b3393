package check_test

import (
	"testing"

	"github.com/snowraft/snowraft/jepsen/check"
)

func TestOverall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcomes []check.Outcome
		want     check.Outcome
	}{
		"all pass":                        {[]check.Outcome{check.Pass, check.Pass}, check.Pass},
		"one fails":                       {[]check.Outcome{check.Pass, check.Fail, check.Pass}, check.Fail},
		"one is invalid":                  {[]check.Outcome{check.Pass, check.Invalid, check.Pass}, check.Invalid},
		"a failure after an invalid one":  {[]check.Outcome{check.Invalid, check.Fail}, check.Fail},
		"a failure before an invalid one": {[]check.Outcome{check.Fail, check.Invalid}, check.Fail},
		"no verdicts":                     {nil, check.Invalid},
		"an unknown outcome":              {[]check.Outcome{check.Pass, "great"}, check.Invalid},
	} {
		var verdicts []check.Verdict
		for _, o := range c.outcomes {
			verdicts = append(verdicts, check.Verdict{Outcome: o})
		}
		if got := check.Overall(verdicts); got != c.want {
			t.Errorf("%s: Overall() = %s, want %s", name, got, c.want)
		}
	}
}
