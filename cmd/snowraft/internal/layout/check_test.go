package layout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/snowflake"
)

// now is the instant of the check in these tests.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC).UnixMilli()

// described returns the system that a command line describes.
func described(t *testing.T, line, stdin string) (existingSystem, error) {
	t.Helper()
	e := &existing{form: specFlags{unit: time.Millisecond}}
	e.cmd = &cobra.Command{}
	e.addFlags()
	if err := e.cmd.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	return e.describe(strings.NewReader(stdin), now)
}

func system(t *testing.T, line string) existingSystem {
	t.Helper()
	s, err := described(t, line, "")
	if err != nil {
		t.Fatalf("describe %q: %v", line, err)
	}
	return s
}

func TestMeet(t *testing.T) {
	t.Parallel()
	date := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01") }
	for _, c := range []struct {
		line, layout, first, last string // empty: never
	}{
		{"--preset twitter --since 2019-06-01T00:00:00Z --until 2019-06-30T00:00:00Z", "default", "2033-07", "2033-08"},
		{"--preset twitter", "default", "2026-11", "2041-01"},
		{"--preset twitter", "twitter", "", ""}, // continues after the last ID
		{"--preset twitter --until 2026-11-24T00:00:00Z", "twitter", "2026-11", "2026-11"},
		{"--preset twitter --datacenter 1 --until 2080-01-01T00:00:00Z", "twitter", "", ""}, // the cluster has datacenter 0
		{"--preset twitter --until 2012-01-01T00:00:00Z", "default", "", ""},
		{"--preset mastodon", "default", "", ""},
		{"--preset sonyflake", "default", "2026-11", "2029-11"},
	} {
		own, _ := snowflake.Preset(c.layout)
		m := meet(system(t, c.line), own, now)
		if m.Meets != (c.first != "") {
			t.Errorf("%s with %s: meets = %t", c.line, c.layout, m.Meets)
		} else if m.Meets && (date(m.FirstAtMS) != c.first || date(m.LastAtMS) != c.last) {
			t.Errorf("%s with %s: %s to %s, want %s to %s", c.line, c.layout, date(m.FirstAtMS), date(m.LastAtMS), c.first, c.last)
		}
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--preset twitter": "snowraft layout create NAME --preset twitter",
		"--preset twitter --datacenter 0 --until 2080-01-01T00:00:00Z": "snowraft layout create NAME --preset twitter --datacenter 1",
		"--preset discord": "snowraft layout create NAME --fields time:41,worker:10,sequence:12 --epoch 2014-12-31T00:00:00Z",
		"--fields time:40,sequence:4,worker:12 --unit 10ms --epoch 2020-01-01T00:00:00Z": "snowraft layout create NAME --fields time:40,sequence:4,worker:12 --unit 10ms --epoch 2020-01-01T00:00:00Z",
		"--preset baidu": "", // the time field is exhausted, so any number can be an ID
		"--preset twitter --until 2080-01-01T00:00:00Z": "", // both systems in the same datacenter
	} {
		s := system(t, line)
		spec, ok := suggest(s, now)
		got := ""
		if ok {
			got = command(spec)
		}
		if got != want {
			t.Errorf("suggest(%s) = %q, want %q", line, got, want)
		}
		if l, err := snowflake.New(spec); ok && (err != nil || meet(s, l, now).Meets) {
			t.Errorf("suggest(%s) is not safe: %v", line, err)
		}
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ids.txt")
	if err := os.WriteFile(file, []byte("# orders\n1142461462413344768\n\n 1030000000000000000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := described(t, "--sample "+file, "")
	if err != nil {
		t.Fatal(err)
	}
	m := meet(s, snowflake.Default(), now)
	if !m.Meets || m.FirstID != 1030000000000000000 || m.LastID != 1142461462413344768 {
		t.Errorf("meet() = %+v, want the least and the greatest ID of the sample", m)
	}
	if _, err := described(t, "--preset twitter --sample "+file, ""); err != nil {
		t.Errorf("a sample of the layout: %v", err)
	}
}

func TestExistingSystemRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, stdin, want string }{
		{"", "", "missing --preset, --fields or --sample"},
		{"--until 2020-01-01T00:00:00Z --sample -", "1", "--until requires --preset or --fields"},
		{"--fields worker:3", "", "no time field"},
		{"--preset twitter --epoch 0", "", "--epoch cannot be combined with --preset"},
		{"--preset twitter --until tomorrow", "", `--until "tomorrow": expected RFC 3339`},
		{"--preset twitter --since 2027-01-01T00:00:00Z", "", "is before --since"},
		{"--preset cosid --datacenter 1", "", "no datacenter field"},
		{"--preset twitter --datacenter 32", "", "--datacenter 32: expected 0 to 31"},
		{"--preset twitter --sample -", "5 6", `-:1: "5 6": expected a whole number`},
		{"--preset twitter --sample -", "", "has no IDs"},
		{"--preset twitter --since 2012-01-01T00:00:00Z --sample -", "1\n", "ID 1 dates to 2010-11-04T01:42:54.657Z"},
		{"--preset twitter --datacenter 3 --sample -", "1\n", "ID 1 has datacenter 0"},
		{"--preset jssafe --sample -", "18446744073709551615\n", "more than the 53 bits"},
		{"--sample /does/not/exist", "", "cannot be read"},
		{"--sample -", strings.Repeat("1", 70_000), "longer than"},
	} {
		if _, err := described(t, c.line, c.stdin); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("describe(%q, %.10q) = %v, want an error with %q", c.line, c.stdin, err, c.want)
		}
	}
}
