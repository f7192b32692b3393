//go:build process

package processtest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/skew"
)

// drills holds the drill of each chapter of the runbook, by anchor.
var drills = map[string]func(d *drill){
	"no-leader":                                 drillNoLeader,
	"leader-without-another-clock":              drillNoOtherClock,
	"lost-majority":                             drillLostMajority,
	"member-cut-off":                            drillCutOff,
	"gateway-down":                              drillGateway,
	"clock-behind":                              drillClockBehind,
	"clock-ahead":                               drillClockAhead,
	"observed-clock-in-the-future":              drillFuture,
	"member-waits-for-others":                   drillWaits,
	"copied-data-directory":                     drillCopy,
	"join-address-in-another-cluster":           drillOtherCluster,
	"name-taken":                                drillName,
	"removed-member":                            drillRemoved,
	"damaged-data-directory":                    drillDamage,
	"data-of-a-newer-version":                   drillNewer,
	"secret-missing":                            drillSecretMissing,
	"data-directory-in-use":                     drillInUse,
	"port-in-use":                               drillPort,
	"disk-slow-or-full":                         drillDiskFull,
	"members-that-cannot-understand-each-other": drillOtherSecret,
	"unreached-members":                         drillUnreached,
	"workers-exhausted":                         drillWorkers,
	"restored-and-frozen":                       drillRestored,
	"set-back":                                  drillSetBack,
	"numbers-stay-open":                         drillOpen,
	"sequence-exhausted":                        drillExhausted,
	"numbers-would-repeat":                      drillRepeat,
	"token-refused":                             drillToken,
	"rate-of-a-token":                           drillRate,
	"overloaded-member":                         drillOverloaded,
}

// slow holds the durations in seconds of the drills that start first.
var slow = map[string]int{"restored-and-frozen": 32, "no-leader": 16, "disk-slow-or-full": 15, "lost-majority": 13, "name-taken": 12}

// TestRunbook runs each chapter of the runbook in its situation. The members print the lines of the page, its
// commands print the output on the page, and the fault is fixed after all commands. A chapter with a block and without a drill
// fails.
func TestRunbook(t *testing.T) {
	t.Parallel()
	chapters, text := readRunbook(t)
	for anchor := range drills {
		if chapters[anchor] == nil {
			t.Errorf("the runbook has no chapter %s with blocks", anchor)
		}
	}
	var ran []string
	anchors := slices.Sorted(maps.Keys(chapters))
	slices.SortStableFunc(anchors, func(a, b string) int { return cmp.Compare(slow[b], slow[a]) })
	for _, anchor := range anchors {
		c, play := chapters[anchor], drills[anchor]
		if play == nil {
			t.Errorf("no drill plays %q", c.title)
			continue
		}
		for _, b := range c.blocks {
			for _, s := range b.steps {
				ran = append(ran, s.command)
			}
		}
		t.Run(anchor, func(t *testing.T) {
			t.Parallel()
			d := &drill{
				t: t, chapter: c, dir: t.TempDir(), hosts: make(map[string]*member), clocks: make(map[*member]*skew.Clock),
				bound: make(map[string]string), text: make(map[string]string),
			}
			play(d)
			if d.next != len(c.blocks) {
				t.Errorf("%d of %d blocks were played", d.next, len(c.blocks))
			}
		})
	}
	// A command in the prose must also be in a block of the page.
	for _, m := range regexp.MustCompile("`(snowraft [a-z]+ [^`]*)`").FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(ran, func(command string) bool { return strings.HasPrefix(command, m[1]) }) {
			t.Errorf("no block has the command %q of the prose", m[1])
		}
	}
}

// drill is a run of a chapter. Its members run on the page's hosts a, b, c and d.
type drill struct {
	t       *testing.T
	chapter *chapter
	next    int // block
	dir     string
	hosts   map[string]*member
	clocks  map[*member]*skew.Clock
	bound   map[string]string // values here by IDs and other values on the page
	text    map[string]string // texts on the page by texts here
	env     []string          // environment of commands
}

// on puts a member on a host of the page, and names the member like the host.
func (d *drill) on(host string, m *member) *member {
	m.name = host
	return d.at(host, m)
}

// at puts a member on a host of the page.
func (d *drill) at(host string, m *member) *member {
	d.hosts[host] = m
	for i, address := range []string{m.api, m.http, m.raft, m.gossip} {
		d.text[address] = fmt.Sprintf("%s.example.net:770%d", host, i)
	}
	d.text[m.dir] = "/var/lib/snowraft"
	if secret := m.secret.Load(); secret != nil {
		d.text[*secret] = "/etc/snowraft/cluster.secret"
	}
	return m
}

// cluster describes members on the hosts a, b, …
func (d *drill) cluster(size int, flags ...string) []*member {
	d.t.Helper()
	members := newCluster(d.t, size, flags...)
	for i, m := range members {
		d.on(string(rune('a'+i)), m)
	}
	return members
}

// started starts the members of a cluster and waits until they issue IDs.
func (d *drill) started(size int, flags ...string) []*member {
	d.t.Helper()
	members := d.cluster(size, flags...)
	for _, m := range members {
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	return members
}

// asShown returns a text with the addresses and paths of the page.
func (d *drill) asShown(text string) string {
	var pairs []string
	for here, shown := range d.text {
		pairs = append(pairs, here, shown)
	}
	lines := strings.Split(strings.NewReplacer(pairs...).Replace(text), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, " ")
		if _, logged, ok := strings.Cut(line, " level="); ok && strings.HasPrefix(line, "time=") {
			line = "level=" + logged
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// block returns the next block of the chapter, which must be of the given kind.
func (d *drill) block(kind string) block {
	d.t.Helper()
	if d.next == len(d.chapter.blocks) {
		d.t.Fatalf("no block of %s is left", kind)
	}
	b := d.chapter.blocks[d.next]
	if b.kind != kind {
		d.t.Fatalf("block %d is a block of %s, want %s", d.next, b.kind, kind)
	}
	d.next++
	return b
}

// prints waits until a member has printed each line of the next block.
func (d *drill) prints(m *member) {
	d.t.Helper()
	for _, line := range d.block("text").lines {
		began := time.Now()
		for !match(line, d.asShown(m.stderr.String()), d.bound) {
			if time.Since(began) > patience {
				d.t.Fatalf("%s does not print\n%s\nbut\n%s", m.name, line, d.asShown(m.stderr.tail(30)))
			}
			pass(d.t, 20*time.Millisecond)
		}
	}
}

// lastPrints is prints for a member that exits after the line.
func (d *drill) lastPrints(m *member, code int) {
	d.t.Helper()
	if got := m.exit(); got != code {
		d.t.Errorf("%s: exit code %d, want %d", m.name, got, code)
	}
	b := d.block("text")
	last := d.asShown(m.stderr.tail(1))
	if !slices.ContainsFunc(b.lines, func(line string) bool { return match(line, last, d.bound) }) { // a page may list several reasons
		d.t.Fatalf("%s prints last\n%s\nwant\n%s", m.name, last, strings.Join(b.lines, "\n"))
	}
}

// looking matches the commands that a reader repeats until their output is as on the page.
var looking = regexp.MustCompile(`^(snowraft (health|member list|status|worker list|leader get|id|seq get|seq list|config get|token list|secret list|backup inspect)|curl|redis-cli|env -u [A-Z_]+ [A-Z_]+=[^ ]+ [^ ]+ snowraft id)\b`)

// run runs the commands of the next block and compares their output.
func (d *drill) run() {
	d.t.Helper()
	for _, s := range d.block("console").steps {
		if d.supervise(s) {
			continue
		}
		began := time.Now()
		for {
			printed := d.shell(s)
			shown := strings.TrimRight(s.output, "\n")
			if match(shown, printed, d.bound) {
				if strings.HasPrefix(s.command, "date ") {
					d.bound[shown] = printed // known to the reader from here on
				}
				break
			}
			if !looking.MatchString(s.command) || time.Since(began) > patience {
				d.t.Fatalf("%s$ %s\nprints\n%s\nwant\n%s", s.host, s.command, printed, s.output)
			}
			pass(d.t, 100*time.Millisecond)
		}
	}
}

// shell runs a command on a host and returns its output with the values of the page.
func (d *drill) shell(s hostStep) string {
	d.t.Helper()
	line := s.command
	for shown, here := range d.bound {
		line = strings.ReplaceAll(line, shown, here)
	}
	var addrs []string
	for here, shown := range d.text {
		if shown != "/var/lib/snowraft" {
			line = strings.ReplaceAll(line, shown, here)
		}
		if strings.HasSuffix(shown, ":7700") {
			addrs = append(addrs, here)
		}
	}
	if m := d.hosts[s.host]; m != nil {
		line = strings.ReplaceAll(line, "/var/lib/snowraft", m.dir)
	}
	slices.SortFunc(addrs, func(a, b string) int { return strings.Compare(d.text[a], d.text[b]) })
	cmd := exec.CommandContext(d.t.Context(), "sh", "-c", line)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"), "SNOWRAFT_ADDR="+strings.Join(addrs, ","))
	cmd.Env = append(cmd.Env, d.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := cmd.CombinedOutput()
	if failed := strings.Contains(s.output, "snowraft: "); err != nil && !failed && !looking.MatchString(s.command) {
		d.t.Errorf("%s: %v", s.command, err)
	}
	printed := strings.TrimRight(d.asShown(string(output)), "\n")
	d.t.Logf("%s$ %s\n%s", s.host, s.command, printed)
	return printed
}

// supervise runs a command of a supervisor, an editor of its unit, or a clock daemon. It reports whether the command is
// such a command.
func (d *drill) supervise(s hostStep) bool {
	d.t.Helper()
	command, comment, _ := strings.Cut(s.command, "#")
	m := d.hosts[s.host]
	switch strings.TrimSpace(command) {
	case "systemctl stop snowraft":
		d.end(m)
	case "systemctl start snowraft":
		m.start()
	case "systemctl restart snowraft":
		d.end(m)
		m.start()
	case "systemctl edit snowraft":
		d.edit(m, strings.Fields(comment))
	case "chronyc makestep":
		d.setClock(m, 0)
	default:
		return false
	}
	return true
}

// end stops a member that may have stopped already.
func (d *drill) end(m *member) {
	d.t.Helper()
	if m.process != nil && m.running() {
		m.signal(syscall.SIGCONT) // resumes a member that hangs
		m.stop()
	}
}

// edit changes the flags of a member: "with FLAG [VALUE]" or "without FLAG [VALUE]".
func (d *drill) edit(m *member, words []string) {
	d.t.Helper()
	if len(words) < 2 {
		d.t.Fatalf("the comment of systemctl edit is %q, want with or without a flag", words)
	}
	flags := words[1:]
	for here, shown := range d.text {
		for i := range flags {
			flags[i] = strings.ReplaceAll(flags[i], shown, here)
		}
	}
	if i := slices.Index(m.flags, flags[0]); i >= 0 {
		n := 1
		if i+1 < len(m.flags) && !strings.HasPrefix(m.flags[i+1], "--") {
			n = 2
		}
		m.flags = slices.Delete(slices.Clone(m.flags), i, i+n)
	}
	if words[0] == "with" {
		m.flags = append(m.flags, flags...)
	}
}
