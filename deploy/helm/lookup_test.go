package helm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
)

// apiServer has the objects of a Kubernetes cluster that templates look up.
type apiServer struct{ dynamic.Interface }

func newAPIServer(existing ...runtime.Object) apiServer {
	return apiServer{dynamicfake.NewSimpleDynamicClient(scheme.Scheme, existing...)}
}

// GetClientFor implements engine.ClientProvider.
func (s apiServer) GetClientFor(version, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	v, err := schema.ParseGroupVersion(version)
	return s.Resource(v.WithResource(strings.ToLower(kind) + "s")), true, err
}

// seen renders the chart as "helm install" and "helm upgrade" do, with a view of the cluster. It returns the notes too.
func seen(t *testing.T, server apiServer, upgrade bool, values string) (objects []*object, notes string, err error) {
	t.Helper()
	c, err := loader.Load("snowraft")
	if err != nil {
		t.Fatal(err)
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	base, err := chartutil.ReadValuesFile("testdata/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	given = chartutil.CoalesceTables(given, base)
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, IsInstall: !upgrade, IsUpgrade: upgrade, Revision: 1}
	all, err := chartutil.ToRenderValues(c, given, options, nil)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.RenderWithClientProvider(c, all, server)
	if err != nil {
		return nil, "", err
	}
	for path, text := range files {
		switch filepath.Ext(path) {
		case ".yaml":
			objects = append(objects, decodeAll(t, text)...)
		case ".txt":
			notes = text
		}
	}
	return objects, notes, nil
}

func TestSecretIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	objects, notes, err := seen(t, newAPIServer(), false, "")
	if err != nil {
		t.Fatal(err)
	}
	made := only[corev1.Secret](t, objects)
	for annotation, want := range map[string]string{
		"hook":               "pre-install,pre-upgrade", // not among the objects that a rollback writes
		"hook-delete-policy": "hook-failed",             // the default deletes an object of this name first
		"hook-weight":        "-1",
		"resource-policy":    "keep",
	} {
		equal(t, annotation, made.Annotations["helm.sh/"+annotation], want)
	}
	if !strings.Contains(notes, made.Name) {
		t.Errorf("the notes do not name the Secret %s:\n%s", made.Name, notes)
	}
	if !strings.Contains(notes, "(umask 077; kubectl get secret ") {
		t.Errorf("other users can read the copy of the secret that the notes make:\n%s", notes)
	}
	for _, upgrade := range []bool{true, false} { // an upgrade, and another installation after the release was removed
		again, _, err := seen(t, newAPIServer(made), upgrade, "")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "Secrets afterwards", len(all[corev1.Secret](again)), 0)
	}
	set := only[appsv1.StatefulSet](t, objects)
	if _, _, err := seen(t, newAPIServer(set), true, ""); err == nil || !strings.Contains(err.Error(), `Secret "ids-snowraft-secret" is gone, and members use it`) {
		t.Errorf("upgrade without the Secret of the members: %v, want a refusal", err)
	}
	made.Data = map[string][]byte{"other": nil}
	if _, _, err := seen(t, newAPIServer(made), true, ""); err == nil || !strings.Contains(err.Error(), `has no key "secret"`) {
		t.Errorf("upgrade with an empty Secret: %v, want a refusal", err)
	}
}

// secret returns a Secret with lines of a secret file.
func secret(name, key, lines string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Data: map[string][]byte{key: []byte(lines)}}
}

// clusterSecret is the Secret that the values in named refer to.
var clusterSecret = secret("cluster-secret", "secret", "snowraft-secret-1:first")

// TestMembersKeepTheirSecret changes the Secret of a running cluster. Members with another secret would not understand the others.
func TestMembersKeepTheirSecret(t *testing.T) {
	t.Parallel()
	const existing = "security: {existingSecret: "
	first, second := "snowraft-secret-1:first", "snowraft-secret-1:second"
	set := only[appsv1.StatefulSet](t, render(t, existing+"old}"))
	old := secret("old", "secret", first+"\n")
	for name, c := range map[string]struct {
		values string
		with   []*corev1.Secret
		want   string // part of the message; empty if the upgrade is allowed
	}{
		"kept":            {existing + "old}", []*corev1.Secret{old}, ""},
		"copied":          {existing + "new}", []*corev1.Secret{old, secret("new", "secret", "# two\n"+second+"\n"+first+"\n")}, ""},
		"old one gone":    {existing + "new}", []*corev1.Secret{secret("new", "secret", first)}, `members use the Secret "old"`},
		"another secret":  {existing + "new}", []*corev1.Secret{old, secret("new", "secret", second)}, `members use the Secret "old", and "new" is another one`},
		"new one missing": {existing + "new}", []*corev1.Secret{old}, `members use the Secret "old"`},
		"forgotten":       {"", []*corev1.Secret{old}, `members use the Secret "old", and "ids-snowraft-secret" is another one or does not exist`},
		"wrong key":       {existing + "new}", []*corev1.Secret{old, secret("new", "cluster.secret", first)}, `the Secret "new" has no cluster secret under the key "secret"`},
		"not a secret":    {existing + "old}", []*corev1.Secret{secret("old", "secret", "password")}, `the Secret "old" has no cluster secret under the key "secret"`},
		"deleted":         {existing + "old}", nil, `Secret "old" is gone, and members use it`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := []runtime.Object{set}
			for _, s := range c.with {
				objects = append(objects, s)
			}
			_, _, err := seen(t, newAPIServer(objects...), true, c.values)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, _, err := seen(t, newAPIServer(), false, existing+"later}"); err != nil {
		t.Errorf("installation before the Secret exists: %v", err)
	}
}

// TestReleaseKeepsItsName renames the members of a running cluster: other names mean other volumes, which are empty.
func TestReleaseKeepsItsName(t *testing.T) {
	t.Parallel()
	set := only[appsv1.StatefulSet](t, render(t, named))
	for values, want := range map[string]string{
		"fullnameOverride: numbers": `the members of this release have the name "ids-snowraft"; with the name "numbers", a new cluster`,
		"nameOverride: numbers":     `with the name "ids-numbers", a new cluster`,
		"":                          "",
	} {
		_, _, err := seen(t, newAPIServer(set, clusterSecret), true, named+values)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", values, err, want)
		}
	}
	others := []*appsv1.StatefulSet{set.DeepCopy(), set.DeepCopy()}
	others[0].Labels["app.kubernetes.io/instance"] = "another-release"
	others[1].Labels["helm.sh/chart"] = "snowraft-2-1.2.3" // the chart twice in one release, with an alias
	for _, other := range others {
		other.Name = "other"
		if _, _, err := seen(t, newAPIServer(other, clusterSecret), true, named); err != nil {
			t.Errorf("other members in the namespace: %v", err)
		}
	}
	if _, _, err := seen(t, newAPIServer(set), false, named+"fullnameOverride: numbers"); err != nil {
		t.Errorf("installation: %v", err)
	}
}

func TestOpenClusterCanGetASecret(t *testing.T) {
	t.Parallel()
	open, _, err := seen(t, newAPIServer(), false, "security: {insecure: true}")
	if err != nil {
		t.Fatal(err)
	}
	objects, _, err := seen(t, newAPIServer(only[appsv1.StatefulSet](t, open)), true, "")
	if err != nil {
		t.Fatal(err)
	}
	only[corev1.Secret](t, objects)
}

func TestSecretsAreValidAndDiffer(t *testing.T) {
	t.Parallel()
	lines := map[string]bool{}
	for range 20 {
		objects, _, err := seen(t, newAPIServer(), false, "")
		if err != nil {
			t.Fatal(err)
		}
		line := only[corev1.Secret](t, objects).Data["secret"]
		lines[string(line)] = true
		file := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(file, line, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := run(t, nil, program(t), "secret", "ca", "--secret-file", file); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	equal(t, "secrets that differ", len(lines), 20)
}

func TestUpgradeRemovesMembersAboveTheNewNumber(t *testing.T) {
	t.Parallel()
	const values = named + "replicas: "
	before := only[appsv1.StatefulSet](t, render(t, values+"5"))
	for _, pods := range []int32{5, 3, 0} { // also after "kubectl scale", which removes no member
		before.Spec.Replicas = &pods
		objects, notes, err := seen(t, newAPIServer(before, clusterSecret), true, values+"3")
		if err != nil {
			t.Fatal(err)
		}
		spec := only[batchv1.Job](t, objects).Spec.Template.Spec
		equal(t, "first removal", spec.InitContainers[0].Args[len(spec.InitContainers[0].Args)-1], fullname+"-4")
		equal(t, "last removal", spec.Containers[0].Args[len(spec.Containers[0].Args)-1], fullname+"-3")
		if want := "kubectl delete pvc -n prod data-ids-snowraft-3 data-ids-snowraft-4\n"; !strings.Contains(notes, want) {
			t.Errorf("notes:\n%s\nwant %q in them", notes, want)
		}
	}
	for _, more := range []string{"5", "7"} {
		objects, _, err := seen(t, newAPIServer(before, clusterSecret), true, values+more)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "jobs for "+more+" replicas", len(all[batchv1.Job](objects)), 0)
	}
	seven := int32(7) // after "kubectl scale" to more
	before.Spec.Replicas = &seven
	objects, _, err := seen(t, newAPIServer(before, clusterSecret), true, values+"5")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "removals from seven", len(only[batchv1.Job](t, objects).Spec.Template.Spec.InitContainers)+1, 2)
}
