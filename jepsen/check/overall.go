package check

// Overall is what all verdicts of a run say together: it fails if one fails, else it is
// invalid if one is, and passes only if each passes. A run that nobody judged is invalid,
// and so is one with an outcome that isn't known.
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
