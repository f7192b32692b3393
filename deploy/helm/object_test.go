package helm

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// object is a rendered object, decoded into the type of its kind.
type object struct {
	kind string
	meta metav1.ObjectMeta
	it   any
}

// serviceMonitor has the fields of the Prometheus operator's type that the chart sets.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port        string         `json:"port"`
			Path        string         `json:"path"`
			Interval    string         `json:"interval"`
			Scheme      string         `json:"scheme"`
			TLSConfig   map[string]any `json:"tlsConfig,omitempty"`
			Relabelings []struct {
				TargetLabel string `json:"targetLabel"`
				Replacement string `json:"replacement"`
			} `json:"relabelings"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// newObject returns an empty object by API version and kind.
var newObject = map[string]func() any{
	"apps/v1 Deployment":                      func() any { return new(appsv1.Deployment) },
	"apps/v1 StatefulSet":                     func() any { return new(appsv1.StatefulSet) },
	"batch/v1 Job":                            func() any { return new(batchv1.Job) },
	"v1 ConfigMap":                            func() any { return new(corev1.ConfigMap) },
	"v1 PersistentVolumeClaim":                func() any { return new(corev1.PersistentVolumeClaim) },
	"v1 Pod":                                  func() any { return new(corev1.Pod) },
	"v1 Secret":                               func() any { return new(corev1.Secret) },
	"v1 Service":                              func() any { return new(corev1.Service) },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return new(networkingv1.NetworkPolicy) },
	"policy/v1 PodDisruptionBudget":           func() any { return new(policyv1.PodDisruptionBudget) },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return new(serviceMonitor) },
}

// decodeAll decodes each document strictly: a field that the type does not have, and a key that comes twice, are errors.
func decodeAll(t *testing.T, documents string) []*object {
	t.Helper()
	var objects []*object
	for document := range strings.SplitSeq("\n"+documents, "\n---") {
		var header struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(document), &header); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if header.Kind == "" {
			continue // nothing but comments
		}
		create := newObject[header.APIVersion+" "+header.Kind]
		if create == nil {
			t.Fatalf("%s %s: an object of this kind is not expected", header.APIVersion, header.Kind)
		}
		it := create()
		if err := yaml.UnmarshalStrict([]byte(document), it); err != nil {
			t.Fatalf("%s: %v in\n%s", header.Kind, err, document)
		}
		objects = append(objects, &object{header.Kind, header.ObjectMeta, it})
	}
	return objects
}

// only returns the one object of a type.
func only[T any](t *testing.T, objects []*object) *T {
	t.Helper()
	found := all[T](objects)
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T, want 1", len(found), new(T))
	}
	return found[0]
}

// all returns the objects of a type.
func all[T any](objects []*object) []*T {
	var found []*T
	for _, o := range objects {
		if it, ok := o.it.(*T); ok {
			found = append(found, it)
		}
	}
	return found
}

// podSpecs returns the pod specs of all objects that have one, by kind.
func podSpecs(objects []*object) map[string]corev1.PodSpec {
	specs := map[string]corev1.PodSpec{}
	for _, o := range objects {
		switch it := o.it.(type) {
		case *appsv1.StatefulSet:
			specs[o.kind] = it.Spec.Template.Spec
		case *batchv1.Job:
			specs[o.kind] = it.Spec.Template.Spec
		case *corev1.Pod:
			specs[o.kind] = it.Spec
		}
	}
	return specs
}
