//go:build process

package processtest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var devToken = regexp.MustCompile(`export SNOWRAFT_TOKEN=(\S+)`)

// The output of dev is sufficient for an application, and the secret file lets the same cluster resume.
func TestSecureDev(t *testing.T) {
	t.Parallel()
	base, data := portBase(t), filepath.Join(t.TempDir(), "data")
	d := startDev(t, base, "--secure", "--data-dir", data)
	found := devToken.FindStringSubmatch(d.stdout.String())
	if found == nil {
		t.Fatalf("no token in %s", d.stdout.String())
	}
	d.interrupt()
	d = startDev(t, base, "--secure", "--data-dir", data)
	defer d.interrupt()
	if devToken.MatchString(d.stdout.String()) {
		t.Error("the second start made another token")
	}
	for want, args := range map[int][]string{0: {"--token", found[1]}, 1: {"--token", found[1][:strings.LastIndex(found[1], "_")]}} {
		if _, stderr, code := command(t, d.env, append([]string{"id"}, args...)...); code != want {
			t.Errorf("exit code %d, want %d: %s", code, want, stderr)
		}
	}
	if _, stderr, code := command(t, d.env, "token", "list", "--secret-file", filepath.Join(data, "secret")); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
