package fsm

import (
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// A holder that was away too long claims a window that ends, by chance, where the next holder's does. Another
// holder does not know of its own extension. Both claims are refused, and the state does not change.
func TestStaleClaimsChangeNothing(t *testing.T) {
	for name, claim := range map[string]func(first, second Grant) *commandv1.Command{
		"extend": func(first, second Grant) *commandv1.Command {
			first.Until = second.Until
			return extend(first, nonceHash('a'), first.Until, 2000)
		},
		"release": func(first, second Grant) *commandv1.Command {
			first.Until = second.Until
			return release(first, nonceHash('a'), second.From+1)
		},
		"end": func(_, second Grant) *commandv1.Command {
			return extend(second, nonceHash('b'), second.Until-1, 2000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t)
			l.must(at(epoch, createLayout(tiny)))
			l.must(at(epoch, acquire("c/0", 60_000)))
			first, second := l.must(at(epoch, acquire("a/0", 1000))).Grant, l.must(at(epoch+1000, acquire("b/0", 1000))).Grant
			if first.Worker != second.Worker {
				t.Fatalf("%+v and %+v are of two workers", first, second)
			}
			l.refused(commandv1.Refusal_REFUSAL_WINDOW_MISMATCH, at(epoch+1500, claim(first, second)))
		})
	}
}
