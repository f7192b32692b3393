//go:build prometheus

package processtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// answeredWithin is the time within which each query has to have a value: rates need some scrapes.
const answeredWithin = time.Minute

// prometheus is a Prometheus with the alerting rules of deploy, that scrapes members each second.
type prometheus struct {
	t       *testing.T
	address string
}

func startPrometheus(t *testing.T, members []*member) *prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal("install prometheus (Debian: apt-get install prometheus)")
	}
	rules, err := filepath.Abs("../../deploy/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, m := range members {
		targets = append(targets, fmt.Sprintf("%q", m.http))
	}
	dir, p := t.TempDir(), &prometheus{t, freeAddress(t)}
	config := filepath.Join(dir, "prometheus.yaml")
	text := fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: snowraft
    static_configs: [{targets: [%s], labels: {cluster: test}}]
`, rules, strings.Join(targets, ", "))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	process := startProgram(t, path, nil, "--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", p.address)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Prometheus:\n%s", process.stderr.tail(20))
		}
	})
	until(t, "Prometheus is ready", func() bool {
		resp, err := http.Get("http://" + p.address + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

// get reads an endpoint of the API into data.
func (p *prometheus) get(path string, query url.Values, data any) error {
	resp, err := http.Get("http://" + p.address + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", answer.Status, answer.Error)
	}
	return nil
}

// valued reports whether a query has a value: a number, unless a series of NaN will do.
func (p *prometheus) valued(expr string, unknown bool) (bool, error) {
	var data struct {
		Result []struct{ Value [2]any }
	}
	if err := p.get("/api/v1/query", url.Values{"query": {expr}}, &data); err != nil {
		return false, err
	}
	for _, r := range data.Result {
		if unknown || r.Value[1] != "NaN" {
			return true, nil
		}
	}
	return false, nil
}

// grafanaVariables are those of Grafana, as they are when all is selected.
var grafanaVariables = strings.NewReplacer(
	"$job", ".*", "$cluster", ".*", "$instance", ".*", "$__rate_interval", "20s", "$__interval", "5s", "$__range", "1m")

// panels returns the queries of a dashboard, by the title of the panel.
func panels(t *testing.T, path string) (queries map[string][]string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	queries = make(map[string][]string)
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries[p.Title] = append(queries[p.Title], target.Expr)
		}
	}
	for _, v := range dashboard.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := regexp.MustCompile(`^label_values\((.+), *(\w+)\)$`).FindStringSubmatch(v.Definition)
		if m == nil {
			t.Fatalf("%s: the variable %s is %q, want label_values(...)", path, v.Name, v.Definition)
		}
		queries["variable "+v.Name] = []string{fmt.Sprintf(`group by (%s) (%s) != bool 0 and on () count(%s{%s!=""})`, m[2], m[1], strings.Split(m[1], "{")[0], m[2])}
	}
	return queries
}

// exercise makes some of everything that metrics count, until the test ends.
func exercise(t *testing.T, members []*member) {
	for _, s := range []*snowraftv1.Sequence{
		{Name: "strict", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Max: new(int64(1_000_000))},
		{Name: "relaxed", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED},
	} {
		if _, err := members[0].numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: s}); err != nil {
			t.Fatal(err)
		}
	}
	if _, stderr, code := command(t, at(members[0]), "backup", filepath.Join(t.TempDir(), "backup")); code != 0 {
		t.Fatalf("backup: %s", stderr)
	}
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			for _, m := range members {
				_, _ = m.generate("", 10)
				for _, sequence := range []string{"strict", "relaxed", "none"} {
					_, _ = m.numbers.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: sequence, Count: 3})
				}
			}
			select {
			case <-tick.C:
			case <-t.Context().Done():
				return
			}
		}
	}()
}

func TestQueriesOfDashboardsHaveAnswers(t *testing.T) {
	members := startCluster(t, 3)
	p := startPrometheus(t, members)
	exercise(t, members)
	files, err := filepath.Glob("../../deploy/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	began, empty := time.Now(), map[string]string{}
	for _, file := range files {
		for title, queries := range panels(t, file) {
			for _, q := range queries {
				empty[filepath.Base(file)+": "+title+": "+q] = grafanaVariables.Replace(q)
			}
		}
	}
	queries := len(empty)
	if queries < 20 {
		t.Fatalf("%d queries in the dashboards, want more", queries)
	}
	for len(empty) > 0 && time.Since(began) < answeredWithin {
		for name, expr := range empty {
			// A process without a certificate of its own reports NaN.
			ok, err := p.valued(expr, strings.Contains(expr, "snowraft_certificate_expiry"))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if ok {
				delete(empty, name)
			}
		}
		pass(t, time.Second)
	}
	for name := range empty {
		t.Errorf("no value after %v: %s", time.Since(began).Round(time.Second), name)
	}
	t.Logf("%d queries have values after %v", queries-len(empty), time.Since(began).Round(time.Second))

	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.get("/api/v1/rules", nil, &rules); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			checked++
			if r.Health != "ok" {
				t.Errorf("the rule %s is %s: %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if checked < 5 {
		t.Errorf("%d rules, want all of deploy/prometheus/rules.yaml", checked)
	}
}
