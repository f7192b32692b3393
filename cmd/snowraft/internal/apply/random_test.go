package apply

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/test/seed"
)

// choices has values of each setting of a sequence, valid ones and some that only fit other settings.
var choices = map[string][]string{
	"mode": {"relaxed", "strict", "gapless"}, "start": {"1", "0", "-7", "1000"}, "increment": {"1", "2", "-3"},
	"min": {"-100", "0", "1"}, "max": {"5000", "1000", "999999"}, "reset": {"none", "daily", "weekly", "monthly", "quarterly", "yearly"},
	"year-starts": {"01-01", "04-06"}, "late": {"0", "1h", "45d"}, "time-zone": {"UTC", "Asia/Tokyo", "''"},
	"format":      {"''", "'{seq:05}'", "'{date:yyyyMMdd}-{seq}'", "'{fy}-{seq}'", "'V{code:base32:8}'", "'{weekyear}W{week}-{seq}'", "'{date:yyyy}/{seq:base36}{check:luhn}'"},
	"description": {"''", "'a: b'", "off"}, "block-duration": {"10s", "1m"}, "min-block": {"1", "100"}, "max-block": {"100", "10000000"}, "reuse": {"true", "false"},
}

// drawSettings draws some settings as they are in a file.
func drawSettings(t *rapid.T, label string) string {
	var all []string
	for _, s := range sequenceSettings {
		if s.key == startKey || rapid.IntRange(0, 3).Draw(t, label+" has "+s.key) == 0 {
			all = append(all, s.key+": "+rapid.SampledFrom(choices[s.key]).Draw(t, label+" "+s.key))
		}
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// Whatever a file says, a second run with it changes nothing, and neither does a run with the exported description. No number comes twice while files follow each other.
func TestRandomFilesAreIdempotent(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	draw, made, refused := 0, 0, 0
	seed.Check(t, func(t *rapid.T) {
		draw++
		names := []string{fmt.Sprintf("a%d", draw), fmt.Sprintf("b%d", draw)}
		seen := map[string]bool{}
		for step := range 3 {
			for _, name := range names {
				settings := drawSettings(t, fmt.Sprint(name[:1], step))
				file := fmt.Sprintf("sequences:\n  %s: %s\n", name, settings)
				if step == 0 && name[0] == 'b' {
					file = fmt.Sprintf("templates:\n  %s/*: %s\n", name, settings)
				}
				stdout, stderr, code := c.apply(file)
				if stderr != "" || code != cli.ExitDone && !strings.Contains(stdout, "refused: ") {
					t.Fatalf("%s: exit code %d, %s%s", file, code, stdout, stderr)
				}
				if code != cli.ExitDone {
					refused++
					continue
				}
				made++
				if stdout, _, code := c.apply(file); code != cli.ExitDone || stdout != "no differences; unchanged: 1\n" {
					t.Fatalf("a second run of %s: exit code %d, %s", file, code, stdout)
				}
			}
			for range 2 {
				if n, err := c.next(names[0], 1); err == nil {
					number := fmt.Sprint(names[0], " ", n)
					if seen[number] {
						t.Fatalf("number %s was issued twice", number)
					}
					seen[number] = true
				}
			}
		}
		// Only this draw's objects matter, but the description has all.
		if stdout, _, code := c.apply(c.export()); code != cli.ExitDone || !strings.HasPrefix(stdout, "no differences; ") {
			t.Fatalf("with the description: exit code %d, %s", code, stdout)
		}
		if stdout, _, code := c.apply("cluster: "+c.ClusterID()+"\nsequences: {}\ntemplates: {}\n", "--prune", "--yes"); code != cli.ExitDone && !strings.Contains(stdout, "gapless") {
			t.Fatalf("prune: exit code %d, %s", code, stdout)
		}
	})
	if made < draw || refused < draw {
		t.Errorf("in %d draws, %d files were applied and %d refused", draw, made, refused)
	}
}
