package trust

import (
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	t.Parallel()
	token := Token{ID: 17, Secret: NewTokenSecret()}
	pinned := token
	pinned.Pin = NewSecret().Authority().Pin()
	secret := NewSecret()
	for text, want := range map[string]string{
		token.Text():                           "snowraft_17_...",
		pinned.Text():                          "snowraft_17_...",
		pinned.Text()[:40]:                     "snowraft_17_...",
		strings.ToUpper(secret.Line()):         strings.ToUpper(secret.Line()), // secrets never have this form
		"name \"" + token.Text() + "\": taken": `name "snowraft_17_...": taken`,
		token.Text() + " " + secret.Line():     "snowraft_17_... snowraft-secret-1:...",
		"unknown sequence \"orders\"":          `unknown sequence "orders"`,
		"snowraft_17_orders":                   "snowraft_17_orders",
		"":                                     "",
	} {
		if got := Mask(text); got != want {
			t.Errorf("Mask returns %q, want %q", got, want)
		}
	}
}
