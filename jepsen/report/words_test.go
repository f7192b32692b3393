package report

import (
	"strings"
	"testing"
	"time"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", columns+1)
	half := strings.Repeat("y", columns/2-1)
	for text, want := range map[string]string{
		"":                      "  -\n",
		"a  b\nc":               "  - a b c\n",
		long + " a":             "  - " + long + "\n    a\n",
		half + " a " + half[:1]: "  - " + half + " a " + half[:1] + "\n",
	} {
		if got := wrap("  - ", text); got != want {
			t.Errorf("wrap(%q) = %q, want %q", text, got, want)
		}
	}
	// A line that fits exactly, and a line that is one letter too long.
	exact := strings.Repeat("z", columns-len("  - a "))
	if got := wrap("  - ", "a "+exact); got != "  - a "+exact+"\n" {
		t.Errorf("wrap() of an exact line = %q, want one line", got)
	}
	if got := wrap("  - ", "a "+exact+"z"); got != "  - a\n    "+exact+"z\n" {
		t.Errorf("wrap() of a long line = %q, want two lines", got)
	}
}

func TestFormatting(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		grouped(0):                             "0",
		grouped(-1234567):                      "-1 234 567",
		grouped(999):                           "999",
		grouped(uint64(1<<64 - 1)):             "18 446 744 073 709 551 615",
		percent(0):                             "0.0 %",
		percent(0.01):                          "<0.1 %",
		percent(99.99):                         "99.9 %",
		percent(100):                           "100.0 %",
		short(1234567 * time.Nanosecond):       "1.23ms",
		short(-999 * time.Microsecond):         "-999µs",
		short(59999 * time.Millisecond):        "1m0s",
		short(3*time.Hour + time.Millisecond):  "3h0m0s",
		clockFace(119 * time.Second):           "119.0 s",
		clockFace(61*time.Minute + 50*1e6):     "1:01:00.0",
		plain(" a\tb\x1b[31m\u202e\nc "):       "a b [31m c",
		cut("abcdef", 4):                       "abc…",
		cut("abcd", 4):                         "abcd",
		binary("not JSON\n"):                   "not JSON",
		binary(`{"version":"v1","other":"x"}`): "v1, other x",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
