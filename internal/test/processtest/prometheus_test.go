//go:build prometheus

package processtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
)

// prometheus is a Prometheus that scrapes members and evaluates the alerting rules of deploy.
type prometheus struct {
	t       *testing.T
	address string
}

// startPrometheus starts a Prometheus that scrapes at an interval, and waits until it has scraped all targets. jobs holds scrape
// jobs in the form of a configuration file.
func startPrometheus(t *testing.T, interval time.Duration, targets int, jobs string) *prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatal("install prometheus (Debian: apt-get install prometheus)")
	}
	rules, err := os.ReadFile("../../../deploy/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, p := t.TempDir(), &prometheus{t, freeport.Address(t)}
	for name, text := range map[string]string{
		"rules.yaml": hasten(string(rules)),
		"prometheus.yaml": fmt.Sprintf("global: {scrape_interval: %[1]v, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [rules.yaml]\nscrape_configs:\n%[2]s",
			interval, jobs),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process := startProgram(t, path, nil, "--config.file", filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", p.address)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Prometheus:\n%s", process.stderr.tail(20))
		}
	})
	until(t, "Prometheus is ready", func() bool {
		if !process.running() {
			t.Fatalf("Prometheus exited:\n%s", process.stderr.tail(20))
		}
		resp, err := http.Get("http://" + p.address + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	until(t, fmt.Sprintf("Prometheus has scraped %d targets, and does not miss the cluster", targets), func() bool {
		pass(t, 200*time.Millisecond)
		up := p.query("count(up == 1)")
		return len(up) == 1 && up[0].text() == fmt.Sprint(targets) && len(p.firing()) == 0
	})
	return p
}

// targets returns the HTTP addresses of members as a YAML list.
func targets(members ...*member) string {
	var quoted []string
	for _, m := range members {
		quoted = append(quoted, fmt.Sprintf("%q", m.http))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// get reads an endpoint of the API into data.
func (p *prometheus) get(path string, query url.Values, data any) {
	p.t.Helper()
	resp, err := http.Get("http://" + p.address + path + "?" + query.Encode())
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		p.t.Fatal(err)
	}
	if answer.Status != "success" {
		p.t.Fatalf("%s with %v: %s: %s", path, query, answer.Status, answer.Error)
	}
}

// sample is a value of a series. NaN is text, because JSON has no such number.
type sample struct {
	Metric map[string]string
	Value  [2]any // time and number
}

func (s sample) text() string { v, _ := s.Value[1].(string); return v }

// query returns the present value of each series of a query.
func (p *prometheus) query(expr string) []sample {
	p.t.Helper()
	var data struct{ Result []sample }
	p.get("/api/v1/query", url.Values{"query": {expr}}, &data)
	return data.Result
}

// ofMachine lists alerts that any program on the machine can cause, because they are about the free space of the machine's disk
// and about its speed. deploy/prometheus/rules_test.yaml tests their rules.
var ofMachine = []string{"SnowraftDiskFilling", "SnowraftDiskFull", "SnowraftLogSyncSlow"}

// firing returns the names of the alerts that fire now, in order, without those of ofMachine.
func (p *prometheus) firing() []string {
	p.t.Helper()
	var data struct {
		Alerts []struct {
			State  string
			Labels map[string]string
		}
	}
	p.get("/api/v1/alerts", nil, &data)
	names := make(map[string]bool)
	for _, a := range data.Alerts {
		if a.State == "firing" && !slices.Contains(ofMachine, a.Labels["alertname"]) {
			names[a.Labels["alertname"]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// checkRules fails for rules that Prometheus could not evaluate.
func (p *prometheus) checkRules() {
	p.t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	p.get("/api/v1/rules", nil, &data)
	checked := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			checked++
			if r.Health != "ok" {
				p.t.Errorf("the rule %s is %s: %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if checked < 30 {
		p.t.Errorf("%d rules, want all of deploy/prometheus/rules.yaml", checked)
	}
}
