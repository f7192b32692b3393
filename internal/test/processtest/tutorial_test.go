//go:build process

package processtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
)

// TestTutorial plays the tutorial from top to bottom: its "sh" blocks start members, and its "console" blocks print the output
// on the page. Member "a" leads at first, as on the page.
func TestTutorial(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	p := newPupil(t)
	commands := 0
	for _, b := range blocks {
		if b[1] == "sh" {
			p.serve(b[2])
			if len(p.processes) == 3 {
				p.untilLed("a")
			}
			continue
		}
		for _, s := range strings.Split("\n"+b[2], "\n$ ")[1:] {
			command, output, _ := strings.Cut(s, "\n")
			p.copies(command, output)
			commands++
		}
	}
	if len(p.processes) != 3 || commands < 20 {
		t.Errorf("the page has %d members and %d commands, want 3 and at least 20", len(p.processes), commands)
	}
	p.serve(p.started["a"]) // "Start a again with the same command"
	until(t, "member a is back", func() bool { return strings.Contains(p.run("snowraft member list"), "Voters: 3 of 3 alive") })
}

// pupil types the commands of the tutorial in its directory.
type pupil struct {
	t         *testing.T
	dir       string
	here      map[string]string // ports here by ports on the page
	page      map[string]string // the reverse
	processes map[string]*process
	started   map[string]string // commands by the names of members
	exports   []string          // commands that set the environment of later commands
	ids       map[string]string // IDs and tokens here by those on the page
}

func newPupil(t *testing.T) *pupil {
	t.Helper()
	p := &pupil{
		t: t, dir: t.TempDir(), here: make(map[string]string), page: make(map[string]string), processes: make(map[string]*process),
		started: make(map[string]string), ids: make(map[string]string),
	}
	for i := range 12 { // four ports of three members
		_, actual, _ := strings.Cut(freeport.Address(t), ":")
		written := strconv.Itoa(7700 + i/4*10 + i%4)
		p.here[written], p.page[actual] = actual, written
	}
	return p
}

// startsMember matches the command that starts a member in the background. The submatches are its words, its name, and the
// beginnings of the names of its two files.
var startsMember = regexp.MustCompile(`(?s)^(snowraft serve --name ([abc]) .*) \\\n  >(\w+)\.log 2>&1 & echo \$! >(\w+)\.pid\n$`)

// serve starts a member, and writes its process ID like the command. The member's default ports may be in use, so the
// environment replaces them.
func (p *pupil) serve(command string) {
	p.t.Helper()
	name := startsMember.FindStringSubmatch(command)
	if name == nil || name[3] != name[2] || name[4] != name[2] {
		p.t.Fatalf("%q does not start a member with files of its name", command)
	}
	words := strings.Fields(strings.ReplaceAll(replacePorts(name[1], p.here), "\\\n", " "))
	var env []string
	for i, protocol := range []string{"API", "HTTP", "RAFT", "GOSSIP"} {
		env = append(env, fmt.Sprintf("SNOWRAFT_%s_ADDR=127.0.0.1:%s", protocol, p.here[strconv.Itoa(7700+i)]))
	}
	p.started[name[2]] = command
	m := startBy(p.t, func(cmd *exec.Cmd) error { cmd.Dir = p.dir; return cmd.Start() }, program, env, words[1:]...)
	p.processes[name[2]] = m
	if err := os.WriteFile(filepath.Join(p.dir, name[2]+".pid"), fmt.Appendln(nil, m.cmd.Process.Pid), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// untilLed waits until the cluster has a leader, and makes it the given member.
func (p *pupil) untilLed(name string) {
	p.t.Helper()
	settings := "SNOWRAFT_SECRET_FILE=secret SNOWRAFT_ADDR=" + replacePorts("127.0.0.1:7700,127.0.0.1:7710,127.0.0.1:7720 ", p.here)
	until(p.t, "members issue IDs", func() bool {
		return strings.Contains(p.run(settings+"snowraft member list"), "3 of 3 alive") && !strings.Contains(p.run(settings+"snowraft id"), "snowraft:")
	})
	until(p.t, "the member leads", func() bool {
		return strings.Contains(p.run(settings+"snowraft leader transfer "+name+"; "+settings+"snowraft leader get"), `leader: "`+name+`"`)
	})
}

// run runs a command in a shell, and returns its output with the ports of the page.
func (p *pupil) run(command string) string {
	p.t.Helper()
	lines := append(append([]string(nil), p.exports...), command)
	cmd := exec.CommandContext(p.t.Context(), "sh", "-c", replacePorts(strings.Join(lines, "\n"), p.here))
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, _ := cmd.CombinedOutput() // the output shows the error
	return replacePorts(string(output), p.page)
}

// copies runs a command of the page, and compares its output with the page.
func (p *pupil) copies(command, shown string) {
	p.t.Helper()
	if name, ok := strings.CutPrefix(command, "kill -9 $(cat "); ok {
		if printed := p.run(command); printed != "" {
			p.t.Errorf("$ %s\nprints\n%s", command, printed)
		}
		p.processes[strings.TrimSuffix(name, ".pid)")].exit()
		return
	}
	for written, actual := range p.ids {
		command = strings.ReplaceAll(command, written, actual)
	}
	if shown == "" { // export and unset print nothing
		p.exports = append(p.exports, command)
	}
	var printed string
	for try := 0; ; try++ { // a list of members may be behind for a moment
		printed = p.run(command)
		if form(printed) == form(shown) || !looking.MatchString(command) || try == 100 {
			break
		}
		pass(p.t, 100*time.Millisecond)
	}
	if form(printed) != form(shown) {
		p.t.Fatalf("$ %s\nprints\n%s\nwant\n%s", command, printed, shown)
	}
	written, actual := own.FindAllString(shown, -1), own.FindAllString(printed, -1)
	for i := range written {
		p.ids[written[i]] = actual[i]
		if token := strings.LastIndexByte(written[i], '_'); token > 20 {
			p.ids[written[i][:22]+"..."] = actual[i] // shortened like on the page
		}
	}
}

// own matches the values of a cluster that later commands use: IDs and tokens.
var own = regexp.MustCompile(`\b[1-9][0-9]{17}\b|\bsnowraft_[0-9]+_[a-z0-9]+_[a-z0-9]+\b`)

// differing holds the forms of values that differ in each run.
var differing = []struct {
	form *regexp.Regexp
	name string
}{
	{own, "OWN"},
	{regexp.MustCompile(`leader: "[bc]" \(` + uuidForm + `\)`), "another leader"},
	{regexp.MustCompile(uuidForm), "UUID"},
	{regexp.MustCompile(timeForm), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "FINGERPRINT"},
	{regexp.MustCompile(`[+-]\d+ ms\b`), "OFFSET"},
	{regexp.MustCompile(`\b(ID|token) \d+\b`), "$1 N"},
	{regexp.MustCompile(`(?m)^(Worker|Sequence|Fencing token) +\d+$`), "$1 N"},
	{regexp.MustCompile(`(?m)^Ticks .*`), "TICKS"},
	{regexp.MustCompile(` +`), " "}, // the width of columns
}

// form returns an output without the values that differ in each run.
func form(output string) string {
	for _, d := range differing {
		output = d.form.ReplaceAllString(output, d.name)
	}
	return strings.TrimSpace(output)
}
