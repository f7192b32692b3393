package deploy_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is the part of a Grafana dashboard that the test knows.
type dashboard struct {
	UID, Title, Description string
	Templating              struct {
		List []struct {
			Name, Type, AllValue string
			Definition           string
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ UID string }
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct {
		Defaults struct{ Unit string }
	}
	Targets []struct {
		Expr       string
		Datasource struct{ UID string }
	}
}

func TestDashboards(t *testing.T) {
	t.Parallel()
	metrics, unknown, uids := listed(t), mayBeUnknown(t), make(map[string]bool)
	files, err := filepath.Glob("grafana/*.json")
	if err != nil || len(files) != 2 {
		t.Fatalf("%d dashboards, want 2: %v", len(files), err)
	}
	for _, file := range files {
		var d dashboard
		if err := json.Unmarshal([]byte(read(t, file)), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if d.UID == "" || uids[d.UID] || d.Title == "" || d.Description == "" || len(d.Panels) < 10 {
			t.Errorf("%s: UID %q, title %q, %d panels", file, d.UID, d.Title, len(d.Panels))
		}
		uids[d.UID] = true
		var variables []string
		for _, v := range d.Templating.List {
			variables = append(variables, v.Name)
			if v.Type != "query" {
				continue
			}
			checkQuery(t, file+", variable "+v.Name, v.Definition, metrics)
			if v.AllValue != ".*" { // a label that no series has must match too
				t.Errorf("%s: variable %s stands for %q if all are selected, want .*", file, v.Name, v.AllValue)
			}
		}
		if want := []string{"datasource", "job", "cluster", "instance"}; !slices.Equal(variables, want) {
			t.Errorf("%s: variables %v, want %v", file, variables, want)
		}
		for i, p := range d.Panels {
			p.check(t, file+", "+p.Title, metrics)
			p.checkUnknown(t, file+", "+p.Title, unknown)
			for _, q := range d.Panels[:i] {
				if p.ID == q.ID || p.Title == q.Title || p.overlaps(q) {
					t.Errorf("%s: panels %q and %q have one ID, title or place", file, p.Title, q.Title)
				}
			}
		}
	}
}

// check checks a panel that is not a row.
func (p panel) check(t *testing.T, where string, metrics map[string]string) {
	t.Helper()
	if p.Type == "row" {
		return
	}
	if p.ID == 0 || p.Title == "" || len(p.Description) < 20 || !strings.HasSuffix(p.Description, ".") || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
		t.Errorf("%s: ID %d, unit %q, description %q, %d queries", where, p.ID, p.FieldConfig.Defaults.Unit, p.Description, len(p.Targets))
	}
	for _, q := range p.Targets {
		checkQuery(t, where, q.Expr, metrics)
		if p.Datasource.UID != "${datasource}" || q.Datasource.UID != "${datasource}" {
			t.Errorf("%s: not of the data source that is selected", where)
		}
		selectors := strings.Count(q.Expr, "{")
		if n := strings.Count(q.Expr, `{job=~"$job",cluster=~"$cluster",instance=~"$instance"`); n == 0 || n != selectors {
			t.Errorf("%s: %d of %d selectors have the variables: %s", where, n, selectors, q.Expr)
		}
		if strings.Contains(q.Expr, "(job, instance)") {
			t.Errorf("%s: combines clusters: %s", where, q.Expr)
		}
		if n := len(metricName.FindAllString(texts.ReplaceAllString(q.Expr, ""), -1)); n != selectors {
			t.Errorf("%s: %d metrics, %d selectors: %s", where, n, selectors, q.Expr)
		}
	}
}

// mayBeUnknown returns the metrics that docs/metrics.md describes as NaN while they are unknown.
func mayBeUnknown(t *testing.T) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| `(snowraft_\\w+).*`NaN`").FindAllStringSubmatch(read(t, "../docs/metrics.md"), -1) {
		all[m[1]] = true
	}
	if len(all) < 10 {
		t.Fatalf("metrics.md has %d metrics that may be NaN", len(all))
	}
	return all
}

// checkUnknown fails for a single value that would be shown as NaN, which no comparison selects, instead of as unknown.
func (p panel) checkUnknown(t *testing.T, where string, unknown map[string]bool) {
	t.Helper()
	if p.Type != "stat" && p.Type != "bargauge" {
		return
	}
	for _, q := range p.Targets {
		for _, name := range metricName.FindAllString(texts.ReplaceAllString(q.Expr, ""), -1) {
			if unknown[name] && !strings.Contains(q.Expr, "> -Inf") {
				t.Errorf("%s: %s may be NaN; select numbers by > -Inf: %s", where, name, q.Expr)
			}
		}
	}
}

func (p panel) overlaps(q panel) bool {
	a, b := p.GridPos, q.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

// TestMetricsAreSeen fails for metrics that neither a dashboard nor a rule uses.
func TestMetricsAreSeen(t *testing.T) {
	t.Parallel()
	var queries strings.Builder
	for _, r := range rules(t) {
		queries.WriteString(r.Expr + "\n")
	}
	files, err := filepath.Glob("grafana/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		queries.WriteString(read(t, file))
	}
	used := make(map[string]bool)
	for _, name := range metricName.FindAllString(queries.String(), -1) {
		used[name], used[part.ReplaceAllString(name, "")] = true, true
	}
	for name := range listed(t) {
		if !used[name] {
			t.Errorf("no dashboard and no rule uses %s", name)
		}
	}
}
