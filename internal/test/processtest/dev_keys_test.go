//go:build process && linux

package processtest

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snowraft/snowraft/internal/test/terminal"
)

// callerLine matches a line of the board of dev about the clients: their name, and the count of results, failed calls and duplicates.
var callerLine = regexp.MustCompile(`(IDs|strict numbers) +\S+ +(\d+) +(\d+) +\S+ +(\d+)\x1b`)

// counts returns the newest counts of a client of dev.
func counts(t *testing.T, screen, name string) (issued, duplicates int) {
	t.Helper()
	for _, m := range callerLine.FindAllStringSubmatch(screen, -1) {
		if m[1] == name {
			issued, _ = strconv.Atoi(m[2])
			duplicates, _ = strconv.Atoi(m[4])
		}
	}
	return issued, duplicates
}

// The keys of dev kill the real member that leads, start it again and cut it off, and its clients get more results without a duplicate.
func TestDevKeysOnTerminal(t *testing.T) {
	t.Parallel()
	keyboard, screen := terminal.Open(t)
	cmd := exec.CommandContext(t.Context(), program, "dev", "--port-base", portBase(t))
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var shown output
	go func() { _, _ = io.Copy(&shown, keyboard) }()
	press := func(keys string) {
		if _, err := keyboard.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	// goOn waits until the clients have got more of both kinds.
	goOn := func(when string) {
		t.Helper()
		for _, name := range []string{"IDs", "strict numbers"} {
			before, _ := counts(t, shown.String(), name)
			until(t, name+" "+when, func() bool { now, _ := counts(t, shown.String(), name); return now > before+20 })
		}
	}
	goOn("at first")
	leader := regexp.MustCompile(`up +dev-([123])\x1b`)
	until(t, "a leader is shown", func() bool { return leader.MatchString(shown.String()) })
	all := leader.FindAllStringSubmatch(shown.String(), -1)
	number := all[len(all)-1][1]
	for _, step := range []struct{ keys, shows string }{
		{"k" + number, "is killed"}, {"s" + number, "runs again"}, {"c" + number, "is cut off"}, {"c" + number, "reaches the others again"},
	} {
		press(step.keys)
		until(t, step.keys, func() bool { return strings.Contains(shown.String(), step.shows) })
		goOn("after " + step.keys)
	}
	press("q")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, shown.String())
	}
	for _, name := range []string{"IDs", "strict numbers"} {
		if issued, duplicates := counts(t, shown.String(), name); issued == 0 || duplicates != 0 {
			t.Errorf("%s: %d results, %d duplicates", name, issued, duplicates)
		}
	}
}
