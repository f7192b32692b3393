package helm

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// checkAll checks the rules for any values.
func checkAll(t *testing.T, objects []*object) {
	t.Helper()
	for _, o := range objects {
		equal(t, o.kind+": namespace", o.meta.Namespace, namespace)
		equal(t, o.kind+": instance", o.meta.Labels["app.kubernetes.io/instance"], release)
	}
	for kind, spec := range podSpecs(objects) {
		checkPod(t, kind, spec)
	}
	checkStatefulSet(t, only[appsv1.StatefulSet](t, objects))
	checkSelectors(t, objects)
	checkPolicy(t, objects)
	equal(t, "PodDisruptionBudget: maxUnavailable", only[policyv1.PodDisruptionBudget](t, objects).Spec.MaxUnavailable.IntValue(), 1)
	for _, job := range all[batchv1.Job](objects) {
		equal(t, "Job: hook", job.Annotations["helm.sh/hook"], "pre-upgrade")
	}
}

// checkPod checks that a pod runs with the least rights, and that its containers only mount volumes that it has.
func checkPod(t *testing.T, kind string, spec corev1.PodSpec) {
	t.Helper()
	if s := spec.SecurityContext; s == nil || !*s.RunAsNonRoot || *s.RunAsUser != 65532 || *s.FSGroup != 65532 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: security context %+v: expected uid and fsGroup 65532, not root, seccomp of the runtime", kind, s)
	}
	if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
		t.Errorf("%s: enableServiceLinks: variables of services, such as SNOWRAFT_PORT, would look like settings", kind)
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		t.Errorf("%s: the pod gets a token of the Kubernetes API", kind)
	}
	volumes := map[string]bool{}
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
		if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440) {
			t.Errorf("%s: volume %s: want the mode 0440", kind, v.Name)
		}
	}
	volumes["data"] = kind == "StatefulSet" // a claim
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		s := c.SecurityContext
		if s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s: container %s: security context %+v", kind, c.Name, s)
		}
		seen := map[string]bool{}
		for _, v := range c.Env {
			if seen[v.Name] {
				t.Errorf("%s: container %s: %s is set twice", kind, c.Name, v.Name)
			}
			seen[v.Name] = true
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: container %s mounts %q, which is not a volume", kind, c.Name, m.Name)
			}
		}
		if kind != "StatefulSet" && (c.Resources.Limits.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero()) {
			t.Errorf("%s: container %s has no limit of CPU or memory, which a quota of the namespace may demand", kind, c.Name)
		}
		if slices.Contains(c.Args, "leave") {
			t.Errorf("%s: container %s makes a member leave", kind, c.Name)
		}
	}
}

// checkStatefulSet checks the settings that keep a cluster alive through starts, updates and losses of quorum.
func checkStatefulSet(t *testing.T, set *appsv1.StatefulSet) {
	t.Helper()
	equal(t, "podManagementPolicy", set.Spec.PodManagementPolicy, appsv1.ParallelPodManagement)
	if set.Spec.MinReadySeconds < 1 {
		t.Error("minReadySeconds: missing")
	}
	c := member(set)
	if l := c.Lifecycle; l == nil || l.PostStart != nil || l.PreStop == nil || l.PreStop.Sleep == nil || l.PreStop.Exec != nil || l.PreStop.HTTPGet != nil {
		t.Errorf("lifecycle %+v: want a sleep in preStop only", l)
	}
	if grace := *set.Spec.Template.Spec.TerminationGracePeriodSeconds; grace < c.Lifecycle.PreStop.Sleep.Seconds+15 {
		t.Errorf("terminationGracePeriodSeconds: %d, want time for preStop and a shutdown", grace)
	}
	for name, p := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe} {
		if p.HTTPGet == nil || p.HTTPGet.Path != "/healthz" {
			t.Errorf("%s probe: %+v, want /healthz, which does not need quorum", name, p.ProbeHandler)
		}
	}
	if p := c.ReadinessProbe; p.HTTPGet == nil || p.HTTPGet.Path != "/readyz" {
		t.Errorf("readiness probe: %+v, want /readyz", p.ProbeHandler)
	}
	if set.Spec.Template.Annotations["checksum/config"] == "" {
		t.Error("no checksum of the settings: a change would not restart members")
	}
	settings := keysOf(t, "serve")
	for _, v := range c.Env {
		if strings.HasPrefix(v.Name, "SNOWRAFT_") && !slices.Contains(settings, "env "+v.Name) {
			t.Errorf("%s: not a setting of snowraft serve", v.Name)
		}
	}
}

// checkSelectors checks that each selector finds the members, and nothing but them.
func checkSelectors(t *testing.T, objects []*object) {
	t.Helper()
	set := only[appsv1.StatefulSet](t, objects)
	selectors := map[string]map[string]string{
		"StatefulSet":         set.Spec.Selector.MatchLabels,
		"PodDisruptionBudget": only[policyv1.PodDisruptionBudget](t, objects).Spec.Selector.MatchLabels,
	}
	for _, s := range all[corev1.Service](objects) {
		selectors["Service "+s.Name] = s.Spec.Selector
		for _, p := range s.Spec.Ports {
			if !slices.ContainsFunc(member(set).Ports, func(c corev1.ContainerPort) bool {
				return c.Name == p.TargetPort.StrVal && c.ContainerPort == p.Port
			}) {
				t.Errorf("Service %s: port %s leads to no port of a member", s.Name, p.Name)
			}
		}
	}
	for _, c := range set.Spec.Template.Spec.TopologySpreadConstraints {
		selectors["spread over "+c.TopologyKey] = c.LabelSelector.MatchLabels
	}
	others := []map[string]string{only[corev1.Pod](t, objects).Labels}
	for _, job := range all[batchv1.Job](objects) {
		others = append(others, job.Spec.Template.Labels)
	}
	for what, selector := range selectors {
		if !selects(selector, set.Spec.Template.Labels) {
			t.Errorf("%s: the selector does not match members", what)
		}
		for _, labels := range others {
			if selects(selector, labels) {
				t.Errorf("%s: the selector matches pods that are not members", what)
			}
		}
	}
	headless := service(t, objects, "members")
	equal(t, "service of the StatefulSet", set.Spec.ServiceName, headless.Name)
	equal(t, "its clusterIP", headless.Spec.ClusterIP, corev1.ClusterIPNone)
	equal(t, "its publishNotReadyAddresses", headless.Spec.PublishNotReadyAddresses, true)
	equal(t, "publishNotReadyAddresses of the clients' service", service(t, objects, "clients").Spec.PublishNotReadyAddresses, false)
	for _, m := range all[serviceMonitor](objects) {
		// The alerting rules combine the members of a job, so no two clusters may share one.
		relabel := m.Spec.Endpoints[0].Relabelings[0]
		equal(t, "relabeled label", relabel.TargetLabel, "job")
		equal(t, "job", relabel.Replacement, m.Namespace+"/"+m.Labels["app.kubernetes.io/instance"])
		for _, s := range all[corev1.Service](objects) {
			equal(t, "ServiceMonitor selects "+s.Name, selects(m.Spec.Selector.MatchLabels, s.Labels), s == headless)
		}
	}
}

func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return len(selector) > 0
}

// checkPolicy checks that only members reach the ports of Raft and gossip, and that the hooks reach the API.
func checkPolicy(t *testing.T, objects []*object) {
	t.Helper()
	set := only[appsv1.StatefulSet](t, objects)
	for _, p := range all[networkingv1.NetworkPolicy](objects) {
		if !selects(p.Spec.PodSelector.MatchLabels, set.Spec.Template.Labels) {
			t.Error("NetworkPolicy: the selector does not match members")
		}
		open := map[int32]bool{} // ports that the rules name
		for _, rule := range p.Spec.Ingress {
			onlyMembers := len(rule.From) == 1 && rule.From[0].PodSelector != nil && rule.From[0].PodSelector.MatchLabels["app.kubernetes.io/component"] == "member"
			for _, port := range rule.Ports {
				number := port.Port.IntVal
				open[number] = true
				if (number == 7702 || number == 7703) && !onlyMembers {
					t.Errorf("NetworkPolicy: port %d is open to %+v, want members only", number, rule.From)
				}
			}
			if len(rule.From) > 1 && !slices.ContainsFunc(rule.From, func(from networkingv1.NetworkPolicyPeer) bool {
				return from.PodSelector != nil && selects(from.PodSelector.MatchLabels, only[corev1.Pod](t, objects).Labels)
			}) {
				t.Error("NetworkPolicy: the chart's own pods do not reach the API")
			}
		}
		for _, port := range member(set).Ports {
			if !open[port.ContainerPort] {
				t.Errorf("NetworkPolicy: nothing reaches port %d", port.ContainerPort)
			}
		}
	}
}

// keysOf returns the variables ("env NAME") and the keys ("key NAME") of a command, from the list that the program is tested with.
func keysOf(t *testing.T, command string) []string {
	t.Helper()
	list, err := os.ReadFile("../../cmd/snowraft/testdata/flags.golden")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(list), "\nsnowraft "+command+"\n")
	if !found {
		t.Fatalf("no command %s in the list of flags", command)
	}
	flags, _, _ := strings.Cut(rest, "\nsnowraft ")
	var keys []string
	for _, found := range regexp.MustCompile(`; ((env|key) [\w-]+)`).FindAllStringSubmatch(flags, -1) {
		keys = append(keys, found[1])
	}
	return keys
}

// owned are the settings that the chart sets, or that do not fit into a StatefulSet.
var owned = []string{"advertise-host", "api-addr", "bootstrap-expect", "client-tls", "data-dir", "force-name", "gossip-addr", "http-addr",
	"http-socket", "http-socket-mode", "insecure", "join", "name", "nonvoter", "raft-addr", "redis-addr", "redis-socket", "redis-socket-mode", "secret-file", "thrift-addr", "tls-cert", "tls-hosts", "tls-key"}

func TestSchemaHasAllSettingsOfMembers(t *testing.T) {
	t.Parallel()
	var want []string
	for _, key := range keysOf(t, "serve") {
		if name, ok := strings.CutPrefix(key, "key "); ok && !slices.Contains(owned, name) {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(schemaOf(t).Properties["config"].Properties))
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("keys of config: %v, want %v", got, want)
	}
}
