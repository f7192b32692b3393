package helm

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestPodOfRestoreIsRestricted checks the pod that docs/kubernetes.md moves a restored directory with: a namespace that enforces the
// Pod Security Standard "restricted" admits it.
func TestPodOfRestoreIsRestricted(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "kubectl apply -n ids -f - <<'END'\n")
	manifest, _, found := strings.Cut(rest, "\n   END\n")
	if !found {
		t.Fatal("the page has no manifest")
	}
	spec := only[corev1.Pod](t, decodeAll(t, strings.ReplaceAll("\n"+manifest, "\n   ", "\n"))).Spec
	if s := spec.SecurityContext; s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("security context of the pod: %+v", s)
	}
	if s := spec.Containers[0].SecurityContext; s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
		s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("security context of the container: %+v", s)
	}
}
