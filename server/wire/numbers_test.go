package wire

import (
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The answer of another member may be invalid, and then yields no numbers.
func TestInvalidNumbersOfMembersAreRefused(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC).UnixMilli()
	good := &snowraftv1.NextNumbersResponse{First: 7, Count: 2, Increment: 3, Format: "{date:yyyyMMdd}-{seq}", TimeZone: "Europe/Berlin", IssuedAtMs: at, Period: "2026-03-02"}
	n, err := Numbers(good, 2)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(n.Append(nil, 1)); text != "20260302-10" {
		t.Errorf("second number = %s, want 20260302-10", text)
	}
	if again := NumbersResponse("s", n, true); again.GetIssuedAtMs() != at || again.GetPeriod() != good.GetPeriod() || again.GetTimeZone() != good.GetTimeZone() || len(again.GetTexts()) != 2 {
		t.Errorf("NumbersResponse() = %v, want the fields of %v and 2 texts", again, good)
	}
	for _, strict := range []bool{false, true} {
		n.Strict = strict
		if again, err := Numbers(NumbersResponse("s", n, false), 2); err != nil || again.Strict != strict {
			t.Errorf("strict %v: Numbers(NumbersResponse()) = %+v, %v", strict, again, err)
		}
	}
	for name, m := range map[string]*snowraftv1.NextNumbersResponse{
		"nothing":   {},
		"too few":   {First: 7, Count: 1, Increment: 3},
		"too many":  {First: 7, Count: 4_000_000_000, Increment: 3},
		"no zone":   {First: 7, Count: 2, Increment: 3, Format: "{seq}", TimeZone: "../../etc/passwd"},
		"no period": {First: 7, Count: 2, Increment: 3, Period: "20260302"},
		"no format": {First: 7, Count: 2, Increment: 3, Format: "{"},
	} {
		if n, err := Numbers(m, 2); err == nil {
			t.Errorf("%s: Numbers() = %+v, want an error", name, n)
		}
	}
}
