package deploy_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ruleTest is a group of rules_test.yaml.
type ruleTest struct {
	Name     string
	Interval string
	Input    []struct {
		Series, Values string
	} `yaml:"input_series"`
	Checks []ruleCheck `yaml:"promql_expr_test"`
}

// ruleCheck has the series that a query has at a time.
type ruleCheck struct {
	Expr string
	At   string `yaml:"eval_time"`
	Want []struct {
		Labels string
		Value  float64
	} `yaml:"exp_samples"`
}

// stillFiring are alerts that look back for days, so that they fire for a while when all members are gone.
var stillFiring = map[string]bool{"SnowraftBackupOld": true}

// Each rule has a group of its name in which at one time a series fires it and another series of the same metric does not, and in
// which all members are gone later, which SnowraftClusterGone reports and the rule does not.
func TestRulesAreTested(t *testing.T) {
	t.Parallel()
	var file struct {
		RuleFiles []string `yaml:"rule_files"`
		Every     string   `yaml:"evaluation_interval"`
		Tests     []ruleTest
	}
	decode(t, "prometheus/rules_test.yaml", &file)
	groups, metrics := make(map[string]ruleTest), listed(t)
	for _, g := range file.Tests {
		groups[g.Name] = g
		g.checkSeries(t, metrics)
	}
	decode(t, "prometheus/rules_pace_test.yaml", &file)
	for _, g := range file.Tests {
		g.checkSeries(t, metrics)
	}
	for _, r := range rules(t) {
		g := groups[r.Alert]
		fires, silent := g.fires(t, r)
		if !fires || !silent {
			t.Errorf("%s: tested with a series that fires it: %t, and at that time with one that does not: %t", r.Alert, fires, silent)
		}
		if !g.endsGone(t, r) {
			t.Errorf("%s: not tested with all members gone", r.Alert)
		}
	}
}

// checkSeries fails for series that no process exports.
func (g ruleTest) checkSeries(t *testing.T, metrics map[string]string) {
	t.Helper()
	for _, in := range g.Input {
		if !strings.HasPrefix(in.Series, "up{") { // the metric of Prometheus about each target
			checkQuery(t, g.Name, in.Series, metrics)
		}
	}
}

// fires reports whether some series fire a rule while they last, and whether at that time another series that the rule reads, of
// another instance, cluster or thing, does not.
func (g ruleTest) fires(t *testing.T, r rule) (fires, silent bool) {
	t.Helper()
	read := metricName.FindAllString(texts.ReplaceAllString(r.Expr, ""), -1)
	for _, c := range g.Checks {
		if c.Expr != `ALERTS{alertname="`+r.Alert+`",alertstate="firing"}` || len(c.Want) == 0 {
			continue
		}
		fires = true
		for _, in := range g.Input {
			name, labels, _ := strings.Cut(in.Series, "{")
			of := false
			for _, m := range read {
				of = of || m == name
			}
			if !of || g.end(t, in.Values) < 0 {
				continue
			}
			fired := false
			for _, alert := range c.Want {
				fired = fired || agree(alert.Labels, labels)
			}
			silent = silent || !fired
		}
	}
	return fires, silent
}

// agree reports whether the labels of an alert and of a series contradict each other in none.
func agree(alert, series string) bool {
	label := regexp.MustCompile(`(\w+)="([^"]*)"`)
	of := make(map[string]string)
	for _, m := range label.FindAllStringSubmatch(series, -1) {
		of[m[1]] = m[2]
	}
	for _, m := range label.FindAllStringSubmatch(alert, -1) {
		if value, ok := of[m[1]]; ok && value != m[2] {
			return false
		}
	}
	return true
}

// endsGone reports whether after the end of all series the rule is silent, and SnowraftClusterGone fires.
func (g ruleTest) endsGone(t *testing.T, r rule) bool {
	t.Helper()
	var last time.Duration
	for _, in := range g.Input {
		end := g.end(t, in.Values)
		if r.Alert == "SnowraftClusterGone" && end < 0 {
			continue
		}
		if end < 0 {
			return false
		}
		last = max(last, end)
	}
	silent, gone := stillFiring[r.Alert], false
	for _, c := range g.Checks {
		at, err := time.ParseDuration(c.At)
		if err != nil {
			t.Fatalf("%s: %v", g.Name, err)
		}
		if at < last {
			continue
		}
		silent = silent || c.Expr == `ALERTS{alertname="`+r.Alert+`",alertstate="firing"}` && len(c.Want) == 0
		gone = gone || strings.Contains(c.Expr, `alertname="SnowraftClusterGone",alertstate="firing"`) && len(c.Want) == 1 && c.Want[0].Value == 1
	}
	return (silent || r.Alert == "SnowraftClusterGone") && gone
}

// end returns the time at which a series becomes stale for good; less than 0 if it does not.
func (g ruleTest) end(t *testing.T, values string) time.Duration {
	t.Helper()
	interval, err := time.ParseDuration(g.Interval)
	if err != nil {
		t.Fatalf("%s: %v", g.Name, err)
	}
	samples, end := 0, time.Duration(-1)
	for value := range strings.FieldsSeq(values) {
		_, times, several := strings.Cut(value, "x")
		n, err := strconv.Atoi(times)
		switch {
		case value == "stale":
			end = time.Duration(samples) * interval
			samples++
		case strings.HasPrefix(value, "_"):
			samples += max(1, n)
		case several && err == nil:
			samples += n + 1
			end = -1
		default:
			samples++
			end = -1
		}
	}
	return end
}
