package helm

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestRenderedClusterLives runs the rendered pods and Jobs: an installation, a lost pod, a loss of quorum, five members, and three again.
func TestRenderedClusterLives(t *testing.T) {
	t.Parallel()
	const values = "config: {promote-after: 1s}\nredis: {enabled: true}\n"
	objects, _, err := seen(t, newAPIServer(), false, values)
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, objects)
	secret := only[corev1.Secret](t, objects)
	n.store(secret.Name, secret.Data)
	set := only[appsv1.StatefulSet](t, objects)

	// The first pod waits for the others, and no probe restarts it.
	pods := []*pod{n.start(set, 0)}
	until(t, "the first pod passes its startup probe", func() bool { return pods[0].probe(set.Spec.Template.Spec.Containers[0].StartupProbe) == http.StatusOK })
	pods[0].alive()
	equal(t, "readiness of one pod of three", pods[0].probe(pods[0].container.ReadinessProbe), http.StatusServiceUnavailable)
	pods = append(pods, n.start(set, 1), n.start(set, 2))
	allReady(t, pods)
	test := only[corev1.Pod](t, objects)
	issues(t, n, &test.Spec)
	voters(t, pods[1], 3)
	verifies(t, pods[1], "ids-snowraft.prod.svc")

	// A pod is killed, and comes back with its volume.
	pods[2].signal(syscall.SIGKILL)
	pods[2] = n.start(set, 2)
	allReady(t, pods)
	voters(t, pods[2], 3)

	// Quorum is lost, and the window of the pod that is left ends: no probe restarts it.
	pods[1].signal(syscall.SIGKILL)
	pods[2].signal(syscall.SIGKILL)
	until(t, "the first pod has no leader", func() bool {
		out, _ := pods[0].exec("seq", "create", "probe", "--timeout", "1s")
		return strings.Contains(out, "NO_LEADER")
	})
	pods[0].alive()
	until(t, "the first pod is not ready", func() bool { return !pods[0].ready() })
	pods[0].alive()
	pods[1], pods[2] = n.start(set, 1), n.start(set, 2)
	allReady(t, pods)

	// Five members: two join, then the others restart one by one with the new addresses.
	objects, _, err = seen(t, newAPIServer(secret, set), true, values+"replicas: 5")
	if err != nil {
		t.Fatal(err)
	}
	five := only[appsv1.StatefulSet](t, objects)
	equal(t, "scale-down jobs", len(all[batchv1.Job](objects)), 0)
	pods = append(pods, n.start(five, 3), n.start(five, 4))
	allReady(t, pods)
	voters(t, pods[0], 5)
	roll(t, n, five, pods[:3])

	// Three again: the Job removes two, then their pods go.
	objects, _, err = seen(t, newAPIServer(secret, five), true, values)
	if err != nil {
		t.Fatal(err)
	}
	job := only[batchv1.Job](t, objects).Spec.Template.Spec
	for range 2 { // the Job may run again
		for _, c := range slices.Concat(job.InitContainers, job.Containers) {
			if out, err := n.command(&c, job.Volumes); err != nil {
				t.Fatalf("%s: %v\n%s", c.Name, err, out)
			}
		}
	}
	for _, gone := range pods[3:] {
		until(t, "a removed pod ends", gone.hasEnded)
		if !strings.Contains(gone.log.String(), "this member was removed from the cluster") {
			t.Errorf("pod %d ended without the word that it was removed", gone.ordinal)
		}
	}
	pods = pods[:3]
	voters(t, pods[0], 3)
	roll(t, n, only[appsv1.StatefulSet](t, objects), pods)
	voters(t, pods[0], 3)
	issues(t, n, &test.Spec)
}

func TestRenderedOpenClusterIssuesIDs(t *testing.T) {
	t.Parallel()
	objects := render(t, "security: {insecure: true}\nthrift: {enabled: true}")
	n := newNode(t, objects)
	set := only[appsv1.StatefulSet](t, objects)
	pods := []*pod{n.start(set, 2), n.start(set, 1), n.start(set, 0)}
	allReady(t, pods)
	issues(t, n, &only[corev1.Pod](t, objects).Spec)
	voters(t, pods[0], 3)
}

// verifies checks that a client with the cluster's CA verifies a pod by a host name.
func verifies(t *testing.T, p *pod, host string) {
	t.Helper()
	ca, err := p.exec("secret", "ca")
	if err != nil {
		t.Fatalf("%v: %s", err, ca)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: host}
	if !config.RootCAs.AppendCertsFromPEM([]byte(ca)) {
		t.Fatalf("no certificate: %s", ca)
	}
	conn, err := tls.Dial("tcp", p.n.host(p.ordinal)+":7701", config)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// roll restarts pods one by one, the last one first, as an update of the StatefulSet does.
func roll(t *testing.T, n *node, set *appsv1.StatefulSet, pods []*pod) {
	t.Helper()
	for i, p := range slices.Backward(pods) {
		p.signal(syscall.SIGTERM)
		equal(t, "exit code of a pod that stops", p.process.ProcessState.ExitCode(), 0)
		pods[i] = n.start(set, p.ordinal)
		allReady(t, pods)
	}
}

func allReady(t *testing.T, pods []*pod) {
	t.Helper()
	for _, p := range pods {
		until(t, "a pod is ready", p.ready)
		p.alive()
	}
}

// voters waits until a pod sees that many voters, all alive, and no other member.
func voters(t *testing.T, p *pod, want int) {
	t.Helper()
	until(t, fmt.Sprintf("%d voters", want), func() bool {
		out, err := p.exec("member", "list", "-o", "json")
		var list struct {
			Members []struct {
				Name, Role string
				Alive      bool
			}
		}
		if err != nil || json.Unmarshal([]byte(out), &list) != nil {
			return false
		}
		for _, m := range list.Members {
			if m.Role != "voter" || !m.Alive || !strings.HasPrefix(m.Name, fullname+"-") {
				return false
			}
		}
		return len(list.Members) == want
	})
}

// issues runs the test pod of the chart, which issues an ID.
func issues(t *testing.T, n *node, spec *corev1.PodSpec) {
	t.Helper()
	out, err := n.command(&spec.Containers[0], spec.Volumes)
	if err != nil || strings.Trim(out, "0123456789") != "\n" {
		t.Errorf("test pod: %v, output %q, want an ID", err, out)
	}
}
