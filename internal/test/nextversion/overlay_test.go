package nextversion

import (
	"os/exec"
	"testing"

	"github.com/snowraft/snowraft/internal/build/mutant"
)

// TestNextVersionCompiles type-checks what the overlay changes; tests of processes and of chaos run it.
func TestNextVersionCompiles(t *testing.T) {
	root, err := mutant.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := Overlay(t.Context(), root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "./fsm", "./internal/member")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
