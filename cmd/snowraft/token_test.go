package main

import (
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
)

// The list has the hosts that use tokens, and those that send refused ones. Members that do not answer are named.
func TestTokenListUse(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	got, warning, code := command(t, "token", "list", "--use", "--addr", f.Address)
	if want := `TOKEN  NAME     HOST      REFUSED  COUNT  LAST
17     billing  10.0.9.5  -        3      now
12     -        10.0.9.6  unknown  552    2026-11-15T14:02:17.000Z
18     ids      10.0.9.7  -        1      2026-11-14T14:02:18.000Z
`; got != want || code != 0 {
		t.Errorf("token list --use prints\n%swant\n%s", got, want)
	}
	if want := "snowraft: warning: uses at these members are unknown, because they do not answer: b\n"; warning != want {
		t.Errorf("token list --use warns %q, want %q", warning, want)
	}
	got, _, _ = command(t, "token", "list", "--use", "--addr", f.Address, "-o", "json")
	if want := `{"uses":[{"host":"10.0.9.5","token":"17","name":"billing","secretFingerprint":"0123456789abcdef","refused":"","count":"3","open":2,"lastAtMs":"1794751338000"},` +
		`{"host":"10.0.9.6","token":"12","name":"","secretFingerprint":"","refused":"unknown","count":"552","open":0,"lastAtMs":"1794751337000"},` +
		`{"host":"10.0.9.7","token":"18","name":"ids","secretFingerprint":"fc8921786d643a5a","refused":"","count":"1","open":0,"lastAtMs":"1794664938000"}]}` + "\n"; got != want {
		t.Errorf("token list --use prints %s, want %s", got, want)
	}
}
