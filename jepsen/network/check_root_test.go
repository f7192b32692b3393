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
		t.Errorf("Check() left an interface in this namespace: %v", err)
	}
}

// TestCheckNamesMissingFeatures hides programs, and replaces ss by a program that does nothing, like the real ss in a
// kernel that cannot reset connections.
func TestCheckNamesMissingFeatures(t *testing.T) {
	dir := t.TempDir()
	for _, program := range []string{"ip", "iptables-restore"} {
		path, err := exec.LookPath(program)
		ok(t, err)
		ok(t, os.Symlink(path, filepath.Join(dir, program)))
	}
	ok(t, os.WriteFile(filepath.Join(dir, "ss"), []byte("#!/bin/sh\n"), 0o700))
	t.Setenv("PATH", dir)
	planted := rule("a feature that no kernel has", "filter", "INPUT", "-j NOSUCHTARGET")
	needs = append(needs, planted)
	defer func() { needs = needs[:len(needs)-1] }()
	err := Check(t.Context())
	if err == nil {
		t.Fatal("Check() = nil, want an error")
	}
	for _, want := range []string{
		"the program tc;", "the program iptables-save;", planted.what, "NOSUCHTARGET", "CONFIG_INET_DIAG_DESTROY", "stayed open",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Check() = %v, want it to contain %q", err, want)
		}
	}
	if said := err.Error(); strings.Contains(said, "\n") || strings.Contains(said, "veth") {
		t.Errorf("Check() = %q, want one line without veth", said)
	}
}
