//go:build prometheus

package processtest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// scrapedFor is the time that Prometheus scrapes the cluster before the test reads the dashboards.
const scrapedFor = time.Minute

// TestDashboardsOfHealthyCluster scrapes three secured members, a gateway, which serve callers, and a wrapped program for one minute. No alert
// fires. Then each query of the dashboards has a value for each selection of the variables.
func TestDashboardsOfHealthyCluster(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	members := newCluster(t, 3, "--tls-cert", cert, "--tls-key", key)
	secret, redisAddr := trust.NewSecret(), freeport.Address(t)
	members[0].flags = append(members[0].flags, "--redis-addr", redisAddr)
	for _, m := range members {
		m.secured(secret).start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	gateway := newMember(t, "g", "--redis-addr", freeport.Address(t), "--tls-cert", cert, "--tls-key", key)
	gateway.gateway([]string{"SNOWRAFT_TOKEN=" + members[0].firstToken("gateway", "tokens:verify", "ids:issue:*")}, members...)
	exercise(t, members)
	config, app := trusting(t, cert), members[0].firstToken("app", "ids:issue:default")
	for m, redis := range map[*member]string{members[0]: redisAddr, gateway: gateway.flags[1]} {
		for _, call := range callersOf(t, m, redis, config, app) {
			go repeat(t, func() { _ = call() })
		}
	}

	wrapped := freeport.Address(t)
	startProgram(t, program, append(at(members[0]), "SNOWRAFT_TOKEN="+members[0].firstToken("wrapped", "worker:lease:default"), "SNOWRAFT_CA_FILE="+cert),
		"worker", "run", "--http-addr", wrapped, "--env-worker", "WORKER", "--", "sleep", "infinity")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(members[0].firstToken("scraper", "metrics:read", "seq:read:*")), 0o600); err != nil {
		t.Fatal(err)
	}
	var jobs strings.Builder
	for _, job := range [][3]string{
		{"snowraft", "test", targets(members...)}, {"gateways", "test", targets(gateway)},
		{"others", "copy", targets(members...)}, // the same members, as if they were another cluster
	} {
		fmt.Fprintf(&jobs, "  - {job_name: %s, scheme: https, authorization: {credentials_file: %q}, tls_config: {ca_file: %q}, static_configs: [{targets: %s, labels: {cluster: %s}}]}\n",
			job[0], token, cert, job[2], job[1])
	}
	fmt.Fprintf(&jobs, "  - {job_name: wrapped, static_configs: [{targets: [%q], labels: {cluster: test}}]}\n", wrapped)
	w := &watched{t: t, p: startPrometheus(t, 5*time.Second, 2*len(members)+2, jobs.String())}
	w.silent("healthy", scrapedFor)
	w.p.checkRules()

	all := selection{".*", ".*", ".*"}
	choices := offered(t, w.p, all)
	for name, want := range map[string]int{"job": 4, "cluster": 2, "instance": 5} {
		if len(choices[name]) != want {
			t.Errorf("the variable %s has the values %q, want %d", name, choices[name], want)
		}
	}
	several := selection{oneOf(choices["job"]...), oneOf(choices["cluster"]...), oneOf(choices["instance"]...)}
	two := selection{oneOf("snowraft"), oneOf("test"), oneOf(members[0].http, members[1].http)}
	if got := offered(t, w.p, two); len(got["cluster"]) != 1 || len(got["instance"]) != 3 {
		t.Errorf("the variables of one job have the values %v, want those of three members", got)
	}
	values, queries := make(map[string]string), 0 // values by the titles of panels with one value
	for _, d := range dashboards(t) {
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				queries++
				for name, s := range map[string]selection{"all": all, "several": several} {
					if problem := fault(w.p.query(s.apply(target.Expr)), target.Expr); problem != "" {
						t.Errorf("%s, %s, with %s selected: %s: %s", d.Title, panel.Title, name, problem, target.Expr)
					}
				}
				if got := w.p.query(all.apply(target.Expr)); len(got) == 1 {
					values[panel.Title] = got[0].text()
				}
			}
		}
	}
	for title, want := range map[string]string{"Members that issue": "6", "of members": "6", "Tolerated failures": "1"} {
		if values[title] != want {
			t.Errorf("%s of two clusters is %q, want %s", title, values[title], want)
		}
	}
	if queries < 50 {
		t.Errorf("%d queries in the dashboards, want all", queries)
	}
	const ready = `sum(snowraft_ready{job=~"$job",cluster=~"$cluster",instance=~"$instance"})`
	for s, want := range map[selection]string{all: "7", several: "7", two: "2"} {
		if got := w.p.query(s.apply(ready)); len(got) != 1 || got[0].text() != want {
			t.Errorf("with %v selected, %v processes are ready, want %s", s, got, want)
		}
	}
}

// fault describes the fault of a query's values: no value, or a NaN. For rates and quantiles of methods, which are NaN if
// the method was not called recently, one number is enough.
func fault(values []sample, expr string) string {
	unknown := 0
	for _, v := range values {
		if v.text() == "NaN" {
			unknown++
		}
	}
	switch {
	case len(values) == 0:
		return "no value"
	case unknown == len(values):
		return "only NaN"
	case unknown > 0 && !strings.Contains(expr, "rate("):
		return fmt.Sprintf("%d of %d values are NaN", unknown, len(values))
	default:
		return ""
	}
}

// selection holds the values of the variables job, cluster and instance.
type selection struct{ job, cluster, instance string }

// oneOf returns the regular expression that Grafana forms of several values.
func oneOf(values ...string) string {
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, strings.ReplaceAll(regexp.QuoteMeta(v), `\`, `\\`))
	}
	return "(" + strings.Join(quoted, "|") + ")"
}

// apply returns a query as Grafana sends it. The interval of rates suits a data source that is scraped every 5 s.
func (s selection) apply(expr string) string {
	return strings.NewReplacer("$job", s.job, "$cluster", s.cluster, "$instance", s.instance,
		"$__rate_interval", "20s", "$__interval", "5s", "$__range", "1m").Replace(expr)
}

// offered returns the values that the variables of a dashboard offer for a selection.
func offered(t *testing.T, p *prometheus, s selection) map[string][]string {
	t.Helper()
	values := make(map[string][]string)
	for _, d := range dashboards(t) {
		for _, v := range d.Templating.List {
			if v.Type != "query" {
				continue
			}
			m := regexp.MustCompile(`^label_values\((.+), *(\w+)\)$`).FindStringSubmatch(v.Definition)
			if m == nil || m[2] != v.Name {
				t.Fatalf("%s: the variable %s is %q, want label_values(...)", d.Title, v.Name, v.Definition)
			}
			var of []string
			p.get("/api/v1/label/"+m[2]+"/values", map[string][]string{"match[]": {s.apply(m[1])}}, &of)
			values[v.Name] = of
		}
	}
	return values
}

// board is the part of a dashboard that the test reads.
type board struct {
	Title  string
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

func dashboards(t *testing.T) (all []board) {
	t.Helper()
	files, err := filepath.Glob("../../../deploy/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var b board
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, b)
	}
	return all
}

// trusting returns the configuration of clients that trust a certificate.
func trusting(t *testing.T, cert string) *tls.Config {
	t.Helper()
	ca, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{RootCAs: pool}
}

// exercise produces events for all metrics of members until the test ends.
func exercise(t *testing.T, members []*member) {
	for _, s := range []*snowraftv1.Sequence{
		{Name: "strict", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Max: new(int64(1_000_000))},
		{Name: "relaxed", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED},
		{Name: "gapless", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS},
	} {
		if _, err := members[0].numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: s}); err != nil {
			t.Fatal(err)
		}
	}
	reservations := snowraftv1.NewReservationServiceClient(members[0].conn)
	if _, err := reservations.ReserveNumbers(t.Context(), &snowraftv1.ReserveNumbersRequest{Sequence: "gapless", Keys: []string{"open"}}); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := command(t, at(members[0]), "backup", filepath.Join(t.TempDir(), "backup"), "--secret-file", *members[0].secret.Load())
	if code != 0 {
		t.Fatalf("backup: %s", stderr)
	}
	for _, m := range members {
		go repeat(t, func() {
			_, _ = m.generate("", 10)
			for _, sequence := range []string{"strict", "relaxed", "none"} {
				_, _ = m.numbers.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: sequence, Count: 3})
			}
		})
	}
}

// repeat runs call ten times per second until the test ends.
func repeat(t *testing.T, call func()) {
	for t.Context().Err() == nil {
		call()
		pass(t, 100*time.Millisecond)
	}
}
