//go:build foreign

package foreign_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/internal/test/freeport"
	"github.com/snowraft/snowraft/snowflake"
)

const recipes = "../../../docs/workers-recipes.md"

// cluster is a running "snowraft dev".
type cluster struct {
	cmd *exec.Cmd
	api string
}

var started *cluster

// startCluster builds the program like a release, and starts a cluster that all tests share.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	if started != nil {
		return started
	}
	program := filepath.Join(shared, "snowraft")
	build := exec.Command("go", "build", "-o", program, "../../../cmd/snowraft")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	base := freeport.Base(t, 26)
	cmd := exec.Command(program, "dev", "--port-base", strconv.Itoa(base))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	started = &cluster{cmd, freeport.At(base)}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "ready after") {
			return started
		}
	}
	t.Fatal("the cluster does not become ready")
	return nil
}

func stopCluster() {
	if started != nil {
		_ = started.cmd.Process.Signal(os.Interrupt)
		_ = started.cmd.Wait()
	}
}

// shell returns a command that runs a script with the program in the path.
func (c *cluster) shell(script string, before ...string) *exec.Cmd {
	args := append(before, "sh", "-c", script)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+shared+":"+os.Getenv("PATH"), "SNOWRAFT_ADDR="+c.api)
	return cmd
}

// container returns a command that runs a script as a container does: in namespaces of processes and mounts.
func (c *cluster) container(holder, script string) *exec.Cmd {
	cmd := c.shell("exec "+script, "unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
	cmd.Env = append(cmd.Env, "SNOWRAFT_HOLDER="+holder)
	return cmd
}

// recipe runs the first command of a recipe, which creates a layout, and returns the second one with another command for the program.
func (c *cluster) recipe(t *testing.T, name string, program ...string) string {
	t.Helper()
	page, err := os.ReadFile(recipes)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n### "+name+"\n")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	text, _, ok := strings.Cut(rest, "```")
	places := regexp.MustCompile(`java -jar app\.jar|node app\.js|python3 app\.py|gunicorn -w 4|\./app`).FindAllString(text, -1)
	if !ok || len(places) != 1 {
		t.Fatalf("the recipe for %s has the programs %q", name, places)
	}
	create, run, _ := strings.Cut(text, "\n")
	if out, err := c.shell(create).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", create, err, out)
	}
	return strings.Replace(run, places[0], strings.Join(program, " "), 1)
}

// TestRecipes plays each library in two containers with the commands of its recipe, and in a third one that waits for one of
// their workers. All IDs are different.
func TestRecipes(t *testing.T) {
	for _, l := range libraries() {
		t.Run(l.name, func(t *testing.T) {
			c := startCluster(t)
			script := c.recipe(t, l.name, l.program(t, l.count)...)
			script = strings.Replace(script, "worker run", "worker run --below 2", 1)
			both, _ := play(t, l.count, c.container("a", script), c.container("b", script))
			again, _ := play(t, l.count, c.container("a", script))
			if n := repeated(append(both, again...)...); n != 0 {
				t.Errorf("%d IDs came twice", n)
			}
			workers := []uint64{l.workerOf(t, both[0]), l.workerOf(t, both[1]), l.workerOf(t, again[0])}
			t.Logf("3 times %d IDs of the workers %d", l.count, workers)
			if workers[0]+workers[1] != 1 || workers[2] > 1 {
				t.Errorf("workers %d, want 0 and 1, and one of these", workers)
			}
		})
	}
}

// TestCrashLoopOfTSID lets two holders have the same worker in turns, each for a program that makes as many IDs in a row as the --ahead of
// the recipe is for, and then exits. So its IDs are ahead of the clock by that time, while the next program starts in less. No turn
// repeats an ID of an earlier one.
//
// With 65,536 nodes, the IDs of a millisecond are 64 instead of 4096, and fast processors are not needed.
func TestCrashLoopOfTSID(t *testing.T) {
	const perMilli, lead = 64, 2000 // IDs, ms
	all := loopOfTSID(t, perMilli*(lead-20), depth.Of(10, 200), "--ahead 2s")
	if n := repeated(all...); n != 0 {
		t.Errorf("%d IDs of %d turns came twice", n, len(all))
	}
}

// TestShortAheadOfTSID plays two turns of the loop with a lead that --ahead does not cover. If the loop showed nothing, no ID would repeat here.
func TestShortAheadOfTSID(t *testing.T) {
	const perMilli, lead = 64, 9000
	all := loopOfTSID(t, perMilli*lead, 2, "--ahead 0s")
	n := repeated(all...)
	t.Logf("%d of %d IDs came twice", n, len(all[0])+len(all[1]))
	if n == 0 {
		t.Error("no ID came twice")
	}
}

// loopOfTSID runs turns of a program with one worker, which make count IDs each, with another --ahead than that of the recipe.
func loopOfTSID(t *testing.T, count, turns int, ahead string) (all [][]uint64) {
	t.Helper()
	i := slices.IndexFunc(libraries(), func(l library) bool { return l.name == "tsid-creator" })
	if i < 0 {
		t.Fatal("no tsid-creator")
	}
	l, c := libraries()[i], startCluster(t)
	const fields = "time:42,worker:16,sequence:6"
	parsed, err := snowflake.ParseFields(fields)
	if err != nil {
		t.Fatal(err)
	}
	spec := l.layout.Spec()
	spec.Fields = parsed
	l.layout = snowflake.MustNew(spec)
	// If an answer about a worker is lost, the worker is free at the end of its window.
	create := "snowraft config set --max-window 30s && snowraft layout create many-nodes --fields " + fields + " --epoch 2020-01-01T00:00:00Z --lease-only"
	if out, err := c.shell(create).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", create, err, out)
	}
	t.Cleanup(func() {
		if out, err := c.shell("snowraft config set --max-window 10m").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	script := c.recipe(t, l.name, l.program(t, count)...)
	script = strings.NewReplacer("--layout tsid", "--layout many-nodes --below 1", "--ahead 2s", ahead).Replace(script)
	for turn := range turns {
		cmd := c.container(fmt.Sprintf("turn-%d", turn%2), script)
		cmd.Env = append(cmd.Env, "TSIDCREATOR_NODE_COUNT=65536")
		ids, _ := play(t, count, cmd)
		if got := l.workerOf(t, ids[0]); got != 0 {
			t.Fatalf("turn %d has worker %d", turn, got)
		}
		all = append(all, ids...)
	}
	return all
}

// workerOf returns the one worker in all IDs.
func (l library) workerOf(t *testing.T, ids []uint64) uint64 {
	t.Helper()
	first, _ := l.layout.Unpack(ids[0])
	for _, id := range ids {
		if p, err := l.layout.Unpack(id); err != nil || p.Worker != first.Worker {
			t.Fatalf("ID %d has the parts %+v, %v, want worker %d", id, p, err, first.Worker)
		}
	}
	return first.Worker
}
