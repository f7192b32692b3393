//go:build root && linux

package network

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckPasses(t *testing.T) {
	ok(t, Check(t.Context()))
	if err := refuseForeign(); err != nil {
		t.Errorf("it left something in this namespace: %v", err)
	}
}

// TestCheckNamesWhatIsMissing hides programs, and puts one in place of ss that does
// nothing, as the real one does in a kernel that can't reset connections.
func TestCheckNamesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	for _, program := range []string{"ip", "iptables-restore"} {
		path, err := exec.LookPath(program)
		ok(t, err)
		ok(t, os.Symlink(path, filepath.Join(dir, program)))
	}
	ok(t, os.WriteFile(filepath.Join(dir, "ss"), []byte("#!/bin/sh\n"), 0o700))
	t.Setenv("PATH", dir)
	planted := rule("a feature that nobody has", "filter", "INPUT", "-j NOSUCHTARGET")
	needs = append(needs, planted)
	defer func() { needs = needs[:len(needs)-1] }()
	err := Check(t.Context())
	if err == nil {
		t.Fatal("nothing is missing")
	}
	for _, want := range []string{
		"the program tc;", "the program iptables-save;", planted.what, "NOSUCHTARGET", "CONFIG_INET_DIAG_DESTROY", "stayed open",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not have %q", err, want)
		}
	}
	if said := err.Error(); strings.Contains(said, "\n") || strings.Contains(said, "veth") {
		t.Error(said)
	}
}
