package helm

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestRefusedValues(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name, values string
		want         []string // parts of the message
	}{
		{"no image", named + "image: {repository: ''}", []string{"image.repository: missing", "push the image"}},
		{"no secret that templates see", "", []string{"security.existingSecret: missing", "snowraft secret create", "--dry-run=server"}},
		{"even number of voters", named + "replicas: 4", []string{"replicas", "3, 5, 7, 9"}},
		{"one voter", named + "replicas: 1", []string{"replicas"}},
		{"eleven voters", named + "replicas: 11", []string{"replicas"}},
		{"no number of voters", named + "replicas: null", []string{"replicas"}}, // null removes the default
		{"no sizes", named + "persistence: null", []string{"persistence"}},
		{"no rule for hosts", named + "spread: {hosts: null}", []string{"spread", "hosts"}},
		{"misspelled value", named + "replica: 3", []string{"replica"}},
		{"misspelled value inside", named + "persistence: {sise: 1Gi}", []string{"persistence", "sise"}},
		{"unknown setting", named + "config: {lane: 2}", []string{"config", "lane"}},
		{"setting of the chart", named + "config: {join: 'a:7703'}", []string{"config", "join"}},
		{"too many lanes", named + "config: {lanes: 65}", []string{"config", "lanes"}},
		{"duration without a unit", named + "config: {initial-max-window: '600'}", []string{"initial-max-window"}},
		{"audit log outside of the volume", named + "config: {audit-log: /tmp/audit.log}", []string{"audit-log"}},
		{"tag in the repository", named + "image: {repository: 'snowraft:1.2.3'}", []string{"image", "repository"}},
		{"short digest", named + "image: {digest: 'sha256:abc'}", []string{"image", "digest"}},
		{"size without a unit", named + "persistence: {size: '10'}", []string{"persistence", "size"}},
		{"unknown service", named + "service: {type: ExternalName}", []string{"service", "type"}},
		{"long name", named + "fullnameOverride: " + strings.Repeat("x", 41), []string{"fullnameOverride"}},
		{"upper-case name", named + "nameOverride: Snowraft", []string{"nameOverride"}},
		{"open with a secret", "security: {insecure: true, existingSecret: s}", []string{"security.insecure: cannot be combined with security.existingSecret"}},
		{"open with a certificate", "security: {insecure: true, certificateSecret: s}", []string{"security.certificateSecret: needs a secured cluster"}},
		{"open without TLS", "security: {insecure: true, clientTLS: false}", []string{"security.clientTLS: has no effect"}},
		{"plain with a certificate", "security: {existingSecret: s, clientTLS: false, certificateSecret: s}", []string{"cannot be combined with security.clientTLS false"}},
		{"host of an own certificate", "security: {existingSecret: s, certificateSecret: s, hosts: [a]}", []string{"security.hosts: cannot be combined"}},
		{"host with a scheme", "security: {existingSecret: s, hosts: ['https://a']}", []string{"security", "hosts"}},
		{"too many hosts", "security: {existingSecret: s, hosts: [" + strings.Repeat("a,", 51) + "]}", []string{"security", "hosts", "50"}},
		{"variable of Snowraft", named + "extraEnv: [{name: SNOWRAFT_JOIN, value: x}]", []string{`extraEnv "SNOWRAFT_JOIN"`}},
		{"label of the chart", named + "podLabels: {app.kubernetes.io/name: x}", []string{`podLabels "app.kubernetes.io/name"`}},
		{"version label of the chart", named + "podLabels: {app.kubernetes.io/version: x}", []string{`podLabels "app.kubernetes.io/version"`}},
		{"scale-down upwards", named + "replicas: 5\nscaleDown: {from: 3}", []string{"scaleDown.from 3: must not be less than replicas (5)"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			message, err := template(t, r.values)
			if err == nil {
				t.Fatal("rendered, want a refusal")
			}
			for _, want := range r.want {
				if !strings.Contains(message, want) {
					t.Errorf("message %q, want %q in it", message, want)
				}
			}
		})
	}
}

func TestOldKubernetesIsRefused(t *testing.T) {
	t.Parallel()
	message, err := template(t, named, "--kube-version", "1.29.0")
	if err == nil || !strings.Contains(message, ">=1.30.0-0") {
		t.Errorf("Kubernetes 1.29: %v %q, want a refusal", err, message)
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]string{"default": "", "open": "security: {insecure: true}"} {
		if out, err := helm(t, values, "lint", "--strict", "--quiet", "snowraft", "--values", "-"); err != nil {
			t.Errorf("helm lint, %s values: %v\n%s", name, err, out)
		}
	}
	if _, err := helm(t, "replicas: 4", "lint", "snowraft", "--values", "-"); err == nil {
		t.Error("helm lint accepts four replicas")
	}
}

type jsonSchema struct {
	Properties           map[string]jsonSchema `json:"properties"`
	AdditionalProperties any                   `json:"additionalProperties"`
	Required             []string              `json:"required"`
}

func schemaOf(t *testing.T) jsonSchema {
	t.Helper()
	text, err := os.ReadFile("snowraft/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonSchema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEachValueHasASchema(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("snowraft/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	compareWithSchema(t, "", values, schemaOf(t))
}

// compareWithSchema checks that values and schema name the same keys, and that the schema requires each key that has a default,
// because null removes the default. "global" is Helm's own, and a map without properties is free.
func compareWithSchema(t *testing.T, path string, values map[string]any, s jsonSchema) {
	t.Helper()
	for key, value := range values {
		inner, ok := s.Properties[key]
		if !ok {
			t.Errorf("%s%s: not in values.schema.json", path, key)
		}
		if m, isMap := value.(map[string]any); isMap && inner.Properties != nil && path+key != "config" {
			compareWithSchema(t, path+key+".", m, inner)
		}
		if path+key != "config" && path+key != "resources" && needed(value, inner) && !slices.Contains(s.Required, key) {
			t.Errorf("%s%s: values.schema.json does not require it", path, key)
		}
	}
	if s.AdditionalProperties != false {
		t.Errorf("%s: values.schema.json allows keys that it does not name", path)
	}
	for key := range s.Properties {
		if _, ok := values[key]; !ok && key != "global" {
			t.Errorf("%s%s: not in values.yaml", path, key)
		}
	}
}

// needed reports whether the templates need a value of values.yaml.
func needed(value any, s jsonSchema) bool {
	switch v := value.(type) {
	case map[string]any:
		return s.Properties != nil // whose keys the templates read
	case []any:
		return len(v) > 0
	default:
		return v != nil && v != "" && v != false
	}
}
