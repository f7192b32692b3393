package layout

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/snowflake"
)

// now is the instant of the check in these tests.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC).UnixMilli()

// described returns the system that a command line describes.
func described(t *testing.T, line, stdin string) (existingSystem, error) {
	t.Helper()
	return describedAt(t, line, stdin, now)
}

func describedAt(t *testing.T, line, stdin string, now int64) (existingSystem, error) {
	t.Helper()
	e := &existing{form: specFlags{OwnLayout: cli.OwnLayout{Unit: time.Millisecond}}}
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
		{"--preset mybatis", "default", "2026-11", "2041-01"},
		{"--preset mybatis", "leaf", "", ""}, // continues after the last ID
		{"--preset mybatis --until 2026-11-24T00:00:00Z", "leaf", "2026-11", "2026-11"},
		{"--preset tsid --until 2026-11-24T00:00:00Z", "tsid", "2026-11", "2026-11"},
		{"--preset tsid", "default", "2026-11", "2031-11"},
		{"--preset cap", "cap", "", ""}, // although IDs do not sort by time
		{"--preset cap --until 2026-11-24T00:00:00Z", "cap", "2026-11", "2026-11"},
		{"--preset sonyflake", "default", "2026-11", "2029-11"},
		{"--preset sonyflake", "sonyflake", "", ""}, // continues in the next tick
		// The time field is exhausted in February 2025. After that, the time runs over into the bits above, or begins again.
		{"--fields time:35,worker:10,sequence:12 --epoch 2024-01-01T00:00:00Z --until 2025-01-01T00:00:00Z", "default", "", ""},
		{"--fields time:35,worker:10,sequence:12 --epoch 2024-01-01T00:00:00Z", "default", "2026-11", "2027-11"},
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
		"--preset mybatis": "snowraft layout create NAME --preset mybatis",
		"--preset tsid":    "snowraft layout create NAME --preset tsid",
		"--fields time:41,worker:10,sequence:12 --epoch 1288834974657": "snowraft layout create NAME --preset hutool",
		"--preset discord": "snowraft layout create NAME --fields time:41,worker:10,sequence:12 --epoch 2014-12-31T00:00:00Z",
		"--fields time:40,sequence:4,worker:12 --unit 10ms --epoch 2020-01-01T00:00:00Z": "snowraft layout create NAME --fields time:40,sequence:4,worker:12 --unit 10ms --epoch 2020-01-01T00:00:00Z",
		"--fields time:45,worker:8,sequence:10 --unit 10us --epoch 2020-01-01T00:00:00Z": "snowraft layout create NAME --fields time:41,worker:10,sequence:12 --epoch 1983-10-19T00:00:00Z",
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

// TestLeaseOnlyPresets checks what docs/layouts.md says of the presets that only lease workers: whose old IDs their new ones can be
// equal to, and whose new IDs their old ones.
func TestLeaseOnlyPresets(t *testing.T) {
	t.Parallel()
	for only, want := range map[string][2]string{
		"cap": {
			"baidu cosid default discord hutool instagram leaf mastodon mybatis netease sonyflake tsid twitter",
			"cosid default hutool jssafe leaf mybatis netease sonyflake tsid twitter yitter",
		},
		"tsid": {
			"baidu cap cosid discord hutool instagram leaf mybatis twitter",
			"cap default jssafe netease sonyflake yitter",
		},
	} {
		own, _ := snowflake.Preset(only)
		var others [2][]string
		for _, l := range snowflake.Presets() {
			if l.Name() == only {
				continue
			}
			if meet(system(t, "--preset "+l.Name()), own, now).Meets {
				others[0] = append(others[0], l.Name())
			}
			if (l.Spec().LeaseOnly || l.CanIssue(now) == nil) && meet(system(t, "--preset "+only), l, now).Meets {
				others[1] = append(others[1], l.Name())
			}
		}
		if got := [2]string{strings.Join(others[0], " "), strings.Join(others[1], " ")}; got != want {
			t.Errorf("%s meets\n%q, want\n%q", only, got, want)
		}
	}
}

// TestAdvice checks that the advice names a layout that the cluster can issue from.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ layouts, advice string }{
		{"default cap tsid", "create a safe layout"},
		{"cap tsid sonyflake", "create a safe layout"},
		{"cap tsid leaf", `issue from layout "leaf"`},
		{"tsid", ""},
	} {
		s := system(t, "--preset tsid")
		var meetings []meeting
		for name := range strings.FieldsSeq(c.layouts) {
			l, _ := snowflake.Preset(name)
			meetings = append(meetings, meet(s, l, now))
		}
		var text strings.Builder
		a := &cli.App{Stdout: &text, Env: func(string) string { return "" }, Columns: func() int { return 0 }}
		err := report(a.Printer(cli.OutputText), s, meetings, nil, now)
		if (err == nil) != (c.advice == "") || err != nil && !strings.Contains(err.Error(), c.advice) {
			t.Errorf("%s: %v, want %q", c.layouts, err, c.advice)
		}
		if creates := strings.Contains(text.String(), "layout create"); creates != strings.HasPrefix(c.advice, "create") {
			t.Errorf("%s: %s", c.layouts, text.String())
		}
	}
}

// TestPresentTickOfSeconds checks a layout with ticks that are long enough to issue IDs after a check and before the next tick.
func TestPresentTickOfSeconds(t *testing.T) {
	t.Parallel()
	const fields = "time:31,worker:12,sequence:20"
	parsed, err := snowflake.ParseFields(fields)
	if err != nil {
		t.Fatal(err)
	}
	own := snowflake.MustNew(snowflake.Spec{Name: "own", Fields: parsed, UnitMillis: time.Hour.Milliseconds()})
	line := "--fields " + fields + " --unit 1h --epoch 0"
	const minute = int64(time.Minute / time.Millisecond)
	s, err := describedAt(t, line, "", now+30*minute)
	if err != nil {
		t.Fatal(err)
	}
	if m := meet(s, own, now+30*minute); !m.Meets || m.FirstAtMS != now || m.LastAtMS != now {
		t.Errorf("meet() in the hour of the last ID = %+v, want the IDs of that hour", m)
	}
	if m := meet(s, own, now+60*minute); m.Meets {
		t.Errorf("meet() in the next hour = %+v, want none", m)
	}
	if spec, ok := suggest(s, now+30*minute); !ok || snowflake.FormatFields(spec.Fields) == fields {
		t.Errorf("suggest() = %+v, %t, want another layout", spec, ok)
	}
}

// TestMeetEqualsEnumeration compares the command with an enumeration of all IDs of an existing system, described on the command
// line, and of a layout of the cluster.
func TestMeetEqualsEnumeration(t *testing.T) {
	t.Parallel()
	type form struct {
		time, worker, sequence uint8
		unit, epoch            int64
		order                  int
	}
	// id returns the ID of a tick, a worker and a sequence. The fields of order 0 are in the cluster's order.
	id := func(f form, tick, worker, sequence uint64) uint64 {
		switch f.order {
		case 0:
			return tick<<(f.worker+f.sequence) | worker<<f.sequence | sequence
		case 1:
			return worker<<(f.time+f.sequence) | sequence<<f.time | tick
		default:
			return sequence<<(f.time+f.worker) | tick<<f.worker | worker
		}
	}
	text := func(f form) string {
		parts := [...]string{fmt.Sprintf("time:%d", f.time), fmt.Sprintf("worker:%d", f.worker), fmt.Sprintf("sequence:%d", f.sequence)}
		order := [...][3]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}}[f.order]
		return parts[order[0]] + "," + parts[order[1]] + "," + parts[order[2]]
	}
	all := func(f form, first, last int64, into map[uint64]bool) {
		for tick := max(0, first); tick <= min(last, 1<<f.time-1); tick++ {
			for worker := range uint64(1) << f.worker {
				for sequence := range uint64(1) << f.sequence {
					into[id(f, uint64(tick), worker, sequence)] = true
				}
			}
		}
	}
	tick := func(f form, at int64) int64 { return int64(math.Floor(float64(at-f.epoch) / float64(f.unit))) }
	seed.Check(t, func(rt *rapid.T) {
		draw := func(label string, orders int) form {
			width := rapid.Uint8Range(1, 3)
			return form{
				width.Draw(rt, label+" time"), width.Draw(rt, "worker"), width.Draw(rt, "sequence"),
				rapid.Int64Range(1, 3).Draw(rt, "unit"), rapid.Int64Range(-9, 9).Draw(rt, "epoch"), rapid.IntRange(0, orders-1).Draw(rt, "order"),
			}
		}
		old, own := draw("old", 3), draw("own", 1)
		since := old.epoch + rapid.Int64Range(0, 9).Draw(rt, "since")
		until := since + rapid.Int64Range(0, 9).Draw(rt, "until")
		if until = min(until, old.epoch+old.unit<<old.time-1); until < since {
			return // exhausted before its first ID
		}
		now := rapid.Int64Range(-9, 20).Draw(rt, "now")
		line := fmt.Sprintf("--fields %s --unit %dms --epoch=%d --since=%d --until=%d", text(old), old.unit, old.epoch, since, until)
		s, err := describedAt(t, line, "", now)
		if err != nil {
			rt.Fatalf("describe %q: %v", line, err)
		}
		fields, err := snowflake.ParseFields(text(own))
		if err != nil {
			rt.Fatal(err)
		}
		m := meet(s, snowflake.MustNew(snowflake.Spec{Name: "own", Fields: fields, UnitMillis: own.unit, EpochMillis: own.epoch}), now)
		before, after := map[uint64]bool{}, map[uint64]bool{}
		all(old, tick(old, since), tick(old, until), before)
		all(own, tick(own, now)+1, math.MaxInt64, after)
		want := meeting{Layout: "own"}
		for _, shared := range slices.Sorted(maps.Keys(after)) {
			if before[shared] {
				at := own.epoch + own.unit*int64(shared>>(own.worker+own.sequence))
				if !want.Meets {
					want.Meets, want.FirstID, want.FirstAtMS = true, shared, at
				}
				want.LastID, want.LastAtMS = shared, at
			}
		}
		if m != want {
			rt.Fatalf("%s, now %d, with %+v: meet() = %+v, want %+v", line, now, own, m, want)
		}
	})
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
		{"--fields time:41,worker:10,sequence:12", "", "missing --epoch"},
		{"--until 2020-01-01T00:00:00Z --sample -", "1", "--until requires --preset or --fields"},
		{"--fields worker:3 --epoch 0", "", "no time field"},
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
