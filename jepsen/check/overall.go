package check

// Overall returns the outcome of a run: Fail if any verdict fails, Pass if all pass, and otherwise Invalid. A run without
// verdicts is invalid, and an unknown outcome counts as Invalid.
func Overall(verdicts []Verdict) Outcome {
	overall := Pass
	for _, v := range verdicts {
		switch v.Outcome {
		case Pass:
		case Fail:
			return Fail
		default:
			overall = Invalid
		}
	}
	if len(verdicts) == 0 {
		return Invalid
	}
	return overall
}
