package cli

import "testing"

// A member that repeats a token, or returns two of them in turns, must not keep a command busy.
func TestListsEnd(t *testing.T) {
	t.Parallel()
	for _, tokens := range [][]string{{"x"}, {"x", "y"}} {
		pages := 0
		all, err := List(func(string) ([]int, string, error) {
			pages++
			return []int{pages}, tokens[pages%len(tokens)], nil
		})
		if want := map[int]int{1: 2, 2: mostPages}[len(tokens)]; err == nil || all != nil || pages != want {
			t.Errorf("%v: %d entries of %d pages, %v, want %d pages", tokens, len(all), pages, err, want)
		}
	}
}
