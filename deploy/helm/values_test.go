package helm

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// valueSet has values in YAML, and a check of their effect.
type valueSet struct {
	name   string
	values string
	flags  []string
	check  func(t *testing.T, objects []*object)
}

const named = "security: {existingSecret: cluster-secret}\n"

// valueSets are the values that the tests of all objects render.
var valueSets = []valueSet{
	{name: "the secret only", values: named, check: func(t *testing.T, objects []*object) {
		set := only[appsv1.StatefulSet](t, objects)
		equal(t, "replicas", *set.Spec.Replicas, 3)
		equal(t, "name", set.Name, fullname)
		equal(t, "SNOWRAFT_BOOTSTRAP_EXPECT", variable(t, set, "SNOWRAFT_BOOTSTRAP_EXPECT"), "3")
		equal(t, "claim policies", *set.Spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType})
		for _, absent := range []string{"Secret", "ConfigMap", "Job", "ServiceMonitor"} {
			if slices.ContainsFunc(objects, func(o *object) bool { return o.kind == absent }) {
				t.Errorf("%s: rendered, want none", absent)
			}
		}
	}},
	{name: "open", values: "security: {insecure: true}", check: func(t *testing.T, objects []*object) {
		set := only[appsv1.StatefulSet](t, objects)
		equal(t, "SNOWRAFT_INSECURE", variable(t, set, "SNOWRAFT_INSECURE"), "true")
		equal(t, "SNOWRAFT_SECRET_FILE", variable(t, set, "SNOWRAFT_SECRET_FILE"), "")
		equal(t, "scheme of probes", member(set).ReadinessProbe.HTTPGet.Scheme, corev1.URISchemeHTTP)
	}},
	{name: "five members", values: named + "replicas: 5", check: func(t *testing.T, objects []*object) {
		set := only[appsv1.StatefulSet](t, objects)
		equal(t, "replicas", *set.Spec.Replicas, 5)
		equal(t, "SNOWRAFT_BOOTSTRAP_EXPECT", variable(t, set, "SNOWRAFT_BOOTSTRAP_EXPECT"), "5")
		equal(t, "addresses in SNOWRAFT_JOIN", len(strings.Split(variable(t, set, "SNOWRAFT_JOIN"), ",")), 5)
	}},
	{name: "all protocols", values: named + "replicas: 9\nredis: {enabled: true}\nthrift: {enabled: true}", check: func(t *testing.T, objects []*object) {
		set := only[appsv1.StatefulSet](t, objects)
		equal(t, "SNOWRAFT_REDIS_ADDR", variable(t, set, "SNOWRAFT_REDIS_ADDR"), ":7704")
		equal(t, "SNOWRAFT_THRIFT_ADDR", variable(t, set, "SNOWRAFT_THRIFT_ADDR"), ":7609")
		equal(t, "ports of the service", len(service(t, objects, "clients").Spec.Ports), 4)
	}},
	{name: "plain ports for clients", values: "security: {existingSecret: s, clientTLS: false}", check: func(t *testing.T, objects []*object) {
		set := only[appsv1.StatefulSet](t, objects)
		equal(t, "SNOWRAFT_CLIENT_TLS", variable(t, set, "SNOWRAFT_CLIENT_TLS"), "false")
		equal(t, "scheme of probes", member(set).LivenessProbe.HTTPGet.Scheme, corev1.URISchemeHTTP)
	}},
	{name: "hosts", values: "security: {existingSecret: s, hosts: [ids.example.net]}", check: func(t *testing.T, objects []*object) {
		equal(t, "SNOWRAFT_TLS_HOSTS", variable(t, only[appsv1.StatefulSet](t, objects), "SNOWRAFT_TLS_HOSTS"),
			"ids-snowraft,ids-snowraft.prod,ids-snowraft.prod.svc,ids-snowraft.prod.svc.cluster.local,ids.example.net")
	}},
	{name: "own certificate", values: "security: {existingSecret: s, certificateSecret: ids-tls}", check: func(t *testing.T, objects []*object) {
		set := only[appsv1.StatefulSet](t, objects)
		equal(t, "SNOWRAFT_TLS_CERT", variable(t, set, "SNOWRAFT_TLS_CERT"), "/etc/snowraft/certificate/tls.crt")
		equal(t, "SNOWRAFT_TLS_HOSTS", variable(t, set, "SNOWRAFT_TLS_HOSTS"), "")
	}},
	{name: "settings", values: named + "config: {lanes: 2, log-format: json, initial-max-window: 5m}", check: func(t *testing.T, objects []*object) {
		equal(t, "config.yaml", only[corev1.ConfigMap](t, objects).Data["config.yaml"], "initial-max-window: 5m\nlanes: 2\nlog-format: json")
		equal(t, "SNOWRAFT_CONFIG", variable(t, only[appsv1.StatefulSet](t, objects), "SNOWRAFT_CONFIG"), "/etc/snowraft/config/config.yaml")
	}},
	{name: "load balancer", values: named + "service: {type: LoadBalancer, annotations: {example.net/internal: 'true'}}", check: func(t *testing.T, objects []*object) {
		clients := service(t, objects, "clients")
		equal(t, "type", clients.Spec.Type, corev1.ServiceTypeLoadBalancer)
		equal(t, "annotation", clients.Annotations["example.net/internal"], "true")
	}},
	{name: "storage", values: named + "persistence: {size: 10Gi, storageClass: fast, accessMode: ReadWriteOncePod, whenDeleted: Delete}", check: func(t *testing.T, objects []*object) {
		claim := only[appsv1.StatefulSet](t, objects).Spec.VolumeClaimTemplates[0].Spec
		equal(t, "mode", claim.AccessModes[0], corev1.ReadWriteOncePod)
		equal(t, "class", *claim.StorageClassName, "fast")
		equal(t, "size", claim.Resources.Requests.Storage().String(), "10Gi")
	}},
	{name: "listed clients", values: named + "networkPolicy: {clients: [{namespaceSelector: {matchLabels: {team: shop}}}]}", check: func(t *testing.T, objects []*object) {
		rules := only[networkingv1.NetworkPolicy](t, objects).Spec.Ingress
		equal(t, "sources of clients", len(rules[1].From), 2)
	}},
	{name: "no policy", values: named + "networkPolicy: {enabled: false}", check: func(t *testing.T, objects []*object) {
		equal(t, "policies", len(all[networkingv1.NetworkPolicy](objects)), 0)
	}},
	{name: "monitored", values: named + "serviceMonitor: {enabled: true, labels: {release: prometheus}}", check: func(t *testing.T, objects []*object) {
		monitor := only[serviceMonitor](t, objects)
		equal(t, "label", monitor.Labels["release"], "prometheus")
		equal(t, "scheme", monitor.Spec.Endpoints[0].Scheme, "https")
		equal(t, "insecureSkipVerify", monitor.Spec.Endpoints[0].TLSConfig["insecureSkipVerify"], any(true))
	}},
	{name: "monitored, verified", values: named + "serviceMonitor: {enabled: true, tlsConfig: {ca: {configMap: {name: ca, key: ca.pem}}}}", check: func(t *testing.T, objects []*object) {
		config := only[serviceMonitor](t, objects).Spec.Endpoints[0].TLSConfig
		equal(t, "serverName", config["serverName"], any("ids-snowraft.prod.svc")) // a name in the members' certificates
		equal(t, "insecureSkipVerify", config["insecureSkipVerify"], nil)
		equal(t, "keys", len(config), 2)
	}},
	{name: "monitored, other name", values: named + "serviceMonitor: {enabled: true, tlsConfig: {serverName: ids.example.net}}", check: func(t *testing.T, objects []*object) {
		equal(t, "serverName", only[serviceMonitor](t, objects).Spec.Endpoints[0].TLSConfig["serverName"], any("ids.example.net"))
	}},
	{name: "monitored, open", values: "security: {insecure: true}\nserviceMonitor: {enabled: true}", check: func(t *testing.T, objects []*object) {
		equal(t, "scheme", only[serviceMonitor](t, objects).Spec.Endpoints[0].Scheme, "http")
	}},
	{name: "names", values: named + "fullnameOverride: numbers\nclusterDomain: k8s.example.net\nimagePullSecrets: [{name: registry}]\n" +
		"image: {repository: registry.example.net:5000/ids/snowraft, digest: 'sha256:" + strings.Repeat("ab", 32) + "'}",
		check: func(t *testing.T, objects []*object) {
			set := only[appsv1.StatefulSet](t, objects)
			equal(t, "name", set.Name, "numbers")
			equal(t, "image", member(set).Image, "registry.example.net:5000/ids/snowraft@sha256:"+strings.Repeat("ab", 32))
			equal(t, "SNOWRAFT_ADVERTISE_HOST", variable(t, set, "SNOWRAFT_ADVERTISE_HOST"), "$(SNOWRAFT_NAME).numbers-members.prod.svc.k8s.example.net")
		}},
	{name: "placement", values: named + "spread: {hosts: ScheduleAnyway, zones: DoNotSchedule}\nnodeSelector: {disk: ssd}\ntolerations: [{key: ids, operator: Exists}]\n" +
		"affinity: {nodeAffinity: {}}\npriorityClassName: high\nserviceAccountName: ids\nresources: {requests: {cpu: 2}}\n" +
		"podAnnotations: {a: b}\npodLabels: {team: ids}\nextraEnv: [{name: OTEL_SERVICE_NAME, value: ids}]",
		check: func(t *testing.T, objects []*object) {
			spec := only[appsv1.StatefulSet](t, objects).Spec.Template
			equal(t, "label", spec.Labels["team"], "ids")
			equal(t, "annotation", spec.Annotations["a"], "b")
			equal(t, "tolerations", len(spec.Spec.Tolerations), 1)
			equal(t, "class", spec.Spec.PriorityClassName, "high")
			equal(t, "host spread", spec.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable, corev1.ScheduleAnyway)
		}},
	{name: "limit of memory, which the program reads", values: named + "resources: {limits: {memory: 1.5Gi}}", check: func(t *testing.T, objects []*object) {
		set := only[appsv1.StatefulSet](t, objects)
		equal(t, "limit", set.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().String(), "1536Mi")
		equal(t, "GOGC and GOMEMLIMIT", variable(t, set, "GOGC")+variable(t, set, "GOMEMLIMIT"), "")
	}},
	{name: "own limit of memory", values: named + "extraEnv: [{name: GOMEMLIMIT, value: 500MiB}]", check: func(t *testing.T, objects []*object) {
		equal(t, "GOMEMLIMIT", variable(t, only[appsv1.StatefulSet](t, objects), "GOMEMLIMIT"), "500MiB")
	}},
	{name: "scale-down", values: named + "replicas: 3\nscaleDown: {from: 7}", flags: []string{"--is-upgrade"}, check: func(t *testing.T, objects []*object) {
		spec := only[batchv1.Job](t, objects).Spec.Template.Spec
		var removed []string
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			removed = append(removed, c.Args[len(c.Args)-1])
		}
		equal(t, "members to remove", strings.Join(removed, " "), "ids-snowraft-6 ids-snowraft-5 ids-snowraft-4 ids-snowraft-3")
	}},
	{name: "no scale-down", values: named + "replicas: 3\nscaleDown: {from: 5, enabled: false}", flags: []string{"--is-upgrade"}, check: func(t *testing.T, objects []*object) {
		equal(t, "jobs", len(all[batchv1.Job](objects)), 0)
	}},
}

func TestValues(t *testing.T) {
	t.Parallel()
	for _, s := range valueSets {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			objects := render(t, s.values, s.flags...)
			s.check(t, objects)
			checkAll(t, objects)
		})
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// member returns the container of a member.
func member(set *appsv1.StatefulSet) *corev1.Container { return &set.Spec.Template.Spec.Containers[0] }

// variable returns the value of a member's environment variable as it is written; empty without one.
func variable(t *testing.T, set *appsv1.StatefulSet, name string) string {
	t.Helper()
	for _, v := range member(set).Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// service returns the service of a component.
func service(t *testing.T, objects []*object, component string) *corev1.Service {
	t.Helper()
	for _, s := range all[corev1.Service](objects) {
		if s.Labels["app.kubernetes.io/component"] == component {
			return s
		}
	}
	t.Fatalf("no service with the component %q", component)
	return nil
}
