package check

import (
	"maps"
	"testing"
)

func TestDocumentFloors(t *testing.T) {
	t.Parallel()
	enough := map[string]int64{
		"documents": 1, "texts": surelyTexts, "backfilled": 1, "decoded": 1, "late": 1, "reserved": surelyReserved, "void": 1, "reused": 1,
		"crashes": surelyCrashes, "reconciled": 1, "reserved_late": 1,
	}
	for fact := range enough {
		v := newVerdict("documents")
		maps.Copy(v.Facts, enough)
		documentFloors(v)
		if v.Outcome != Pass {
			t.Fatalf("%q, want a pass", v.Failures)
		}
		switch v.Facts[fact] = 0; fact {
		case "reserved", "crashes":
			continue // the number of chances
		}
		if documentFloors(v); v.Outcome != Invalid {
			t.Errorf("without %s: %s, want an invalid run", fact, v.Outcome)
		}
	}
}
