package helm

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

const (
	release   = "ids"
	namespace = "prod"
	fullname  = "ids-snowraft"
)

// helmProgram is the pinned Helm that "make bin/helm" builds.
const helmProgram = "../../bin/helm"

// render returns the objects that "helm template" renders with the values, which are YAML, and those of testdata/base.yaml.
func render(t *testing.T, values string, flags ...string) []*object {
	t.Helper()
	out, err := template(t, values, flags...)
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, out)
	}
	return decodeAll(t, out)
}

// template returns the output of "helm template", or its error with an err.
func template(t *testing.T, values string, flags ...string) (string, error) {
	t.Helper()
	args := append([]string{"template", release, "snowraft", "--namespace", namespace, "--kube-version", "1.34.0", "--values", "testdata/base.yaml", "--values", "-"}, flags...)
	return helm(t, values, args...)
}

// helm runs Helm with a standard input. It reads nothing of the user's.
func helm(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), helmProgram, args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=/nonexistent"}
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stderr.String(), err
	}
	return stdout.String(), nil
}
