package serve

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBrowserOfEachDesktop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system, variable string
		want             []string // nil: an error
	}{
		{"darwin", "", []string{"open"}},
		{"windows", "", []string{"rundll32", "url.dll,FileProtocolHandler"}},
		{"linux", "DISPLAY", []string{"xdg-open"}},
		{"freebsd", "WAYLAND_DISPLAY", []string{"xdg-open"}},
		{"linux", "", nil},
	} {
		got, err := browser(c.system, func(name string) string { return map[string]string{c.variable: "x"}[name] })
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("browser(%s, %s) = %v, %v, want %v", c.system, c.variable, got, err, c.want)
		}
	}
}

// openURL passes the address to the desktop's program as one argument, and reports the error of that program.
func TestOpenURL(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program of Linux")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	a := newTestApp()
	a.Environ["DISPLAY"] = ":0"
	failed := make(chan error, 1)
	if err := a.openURL(t.Context(), "http://x/", func(err error) { failed <- err }); err == nil || !strings.Contains(err.Error(), "xdg-open not found") {
		t.Errorf("openURL() = %v without the program", err)
	}
	opened := filepath.Join(dir, "opened")
	script := "#!/bin/sh\necho \"$#\" \"$1\" >" + opened + "\nexit 3\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := a.openURL(t.Context(), "http://x/", func(err error) { failed <- err }); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		if !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("failed: %v", err)
		}
	case <-time.After(patience):
		t.Error("the failure is not reported")
	}
	if got, err := os.ReadFile(opened); string(got) != "1 http://x/\n" {
		t.Errorf("opened %q, %v", got, err)
	}
}
