// Package deploy_test holds what is delivered for monitoring to the metrics and the documentation. It runs neither Prometheus nor
// Grafana: "make rules" plays the alerts.
package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ofOthers are the metrics that every process with the Prometheus client library has.
var ofOthers = []string{"process_start_time_seconds", "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_max_fds", "go_goroutines"}

var (
	metricName = regexp.MustCompile(`\b(snowraft|process|go)_[a-z_]+`)
	part       = regexp.MustCompile(`_(bucket|sum|count)$`)
	texts      = regexp.MustCompile(`"[^"]*"`)
)

// listed returns the types of the metrics that docs/metrics.md lists for members, gateways and wrapped programs, by their names.
func listed(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, m := range regexp.MustCompile("(?m)^\\| `(snowraft_\\w+)(?:\\{[a-z,]+\\})?` \\| (\\w+) \\| (?:member|gateway|worker run)").FindAllStringSubmatch(read(t, "../docs/metrics.md"), -1) {
		all[m[1]] = m[2]
	}
	if len(all) < 40 {
		t.Fatalf("metrics.md lists %d metrics", len(all))
	}
	return all
}

// checkQuery fails for metrics that no process exports.
func checkQuery(t *testing.T, where, query string, metrics map[string]string) {
	t.Helper()
	names := metricName.FindAllString(texts.ReplaceAllString(query, ""), -1)
	if len(names) == 0 {
		t.Errorf("%s: no metric in %s", where, query)
	}
	for _, name := range names {
		base := part.ReplaceAllString(name, "")
		histogram := base != name && metrics[base] == "histogram"
		if !histogram && (metrics[name] == "" || metrics[name] == "histogram") && !slices.Contains(ofOthers, name) {
			t.Errorf("%s: %s is not exported", where, name)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(read(t, path)))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// rule is an alert of rules.yaml.
type rule struct {
	Alert  string
	Expr   string
	For    string
	Labels struct {
		Severity string
	}
	Annotations struct {
		Summary, Description string
		RunbookURL           string `yaml:"runbook_url"`
	}
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	decode(t, "prometheus/rules.yaml", &file)
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 11 {
		t.Fatalf("%d rules", len(all))
	}
	return all
}

func TestRulesAreComplete(t *testing.T) {
	t.Parallel()
	metrics, known := listed(t), make(map[string]bool)
	for _, r := range rules(t) {
		if known[r.Alert] {
			t.Errorf("%s is defined twice", r.Alert)
		}
		known[r.Alert] = true
		checkQuery(t, r.Alert, r.Expr, metrics)
		switch {
		case !regexp.MustCompile(`^Snowraft[A-Z]\w+$`).MatchString(r.Alert), r.For == "":
			t.Errorf("%s: a name or a duration is missing", r.Alert)
		case r.Labels.Severity != "page" && r.Labels.Severity != "warn":
			t.Errorf("%s: severity %q", r.Alert, r.Labels.Severity)
		case r.Annotations.Summary == "" || len(r.Annotations.Description) < 20:
			t.Errorf("%s: no summary or description", r.Alert)
		}
		page, ok := strings.CutPrefix(r.Annotations.RunbookURL, "https://github.com/snowraft/snowraft/blob/main/docs/")
		path, anchor, _ := strings.Cut(page, "#")
		if !ok || !slices.Contains(anchors(t, filepath.Join("../docs", path)), anchor) {
			t.Errorf("%s: the runbook has no %s", r.Alert, r.Annotations.RunbookURL)
		}
	}
}

// anchors lists the anchors that GitHub gives to the headings of a page.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#{1,6} (.+)$`).FindAllStringSubmatch(read(t, path), -1) {
		all = append(all, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}
