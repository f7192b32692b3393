package helm

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
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

// TestDeploymentOfWorkerRun checks the Deployment of docs/workers.md: the program is where the init container copies it, worker run is the
// first process, and the pod allows a long shutdown.
func TestDeploymentOfWorkerRun(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	manifest, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no manifest")
	}
	d := only[appsv1.Deployment](t, decodeAll(t, manifest))
	spec := d.Spec.Template.Spec
	init, app := spec.InitContainers[0], spec.Containers[0]
	program := init.Command[len(init.Command)-1]
	if app.Command[0] != program || !slices.Equal(app.Command[1:3], []string{"worker", "run"}) || app.Args[0] != "--" {
		t.Errorf("the init container copies %s, and the container runs %q with %q", program, app.Command, app.Args)
	}
	for _, c := range []corev1.Container{init, app} {
		m := c.VolumeMounts[0]
		if m.Name != spec.Volumes[0].Name || !strings.HasPrefix(program, m.MountPath+"/") {
			t.Errorf("%s mounts %+v, want the volume with %s", c.Name, m, program)
		}
	}
	if spec.Volumes[0].EmptyDir == nil || spec.ShareProcessNamespace != nil || *spec.TerminationGracePeriodSeconds <= 30 {
		t.Errorf("pod %+v", spec)
	}
	if labels := d.Spec.Template.Labels; !maps.Equal(d.Spec.Selector.MatchLabels, labels) {
		t.Errorf("the selector does not choose pods with the labels %v", labels)
	}
}
