//go:build redisclients

package processtest

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
	"github.com/snowraft/snowraft/trust"
)

// lastYear is a period that ended, and stays open for late numbers as long as the tests run.
var lastYear = strconv.Itoa(time.Now().UTC().Year() - 1)

// redisProgram is a program that uses one library.
type redisProgram struct {
	redisLibrary
	args  []string
	env   []string
	noTLS bool
}

// TestRedisLibraries runs programs that use real client libraries, each with its default settings, at real members.
func TestRedisLibraries(t *testing.T) {
	programs := buildRedisPrograms(t)
	open, addresses := redisCluster(t, 3, nil)
	secret := trust.NewSecret()
	secured, tlsAddresses := redisCluster(t, 1, &secret)
	plain, plainAddresses := redisCluster(t, 1, &secret, "--client-tls=false")
	scopes := []string{"ids:issue:default", "seq:next:*", "seq:read:*", "seq:admin:*"}
	token, plainToken := secured[0].firstToken("app", scopes...), plain[0].firstToken("app", scopes...)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	pem, _, code := command(t, nil, "secret", "ca", "--secret-file", *secured[0].secret.Load())
	if err := os.WriteFile(ca, []byte(pem), 0o600); err != nil || code != 0 {
		t.Fatal(err, code)
	}
	t.Run("uses", func(t *testing.T) {
		for _, p := range programs {
			t.Run(p.name+" "+p.version, func(t *testing.T) {
				t.Parallel()
				p.uses(t, "open", addresses[1])
				if p.noTLS {
					p.uses(t, "secured", plainAddresses[0], plainToken)
					return
				}
				p.env = append(p.env, "CA="+ca)
				p.uses(t, "secured", tlsAddresses[0], token)
			})
		}
	})
	t.Run("survives", func(t *testing.T) { surviveKill(t, programs, open, addresses) })
}

// redisCluster starts members whose Redis ports differ in the address only, as on three hosts.
func redisCluster(t *testing.T, size int, secret *trust.Secret, flags ...string) (members []*member, addresses []string) {
	t.Helper()
	members = newCluster(t, size)
	_, port, err := net.SplitHostPort(freeport.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range members {
		addresses = append(addresses, net.JoinHostPort("127.0.0."+string(rune('1'+i)), port))
		m.flags = append(append(m.flags, "--redis-addr", addresses[i], "--initial-redis-create", "strict"), flags...)
		if secret != nil {
			m.secured(*secret)
		}
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	for _, args := range [][]string{
		{"seq", "create", "bills", "--format", "B-{seq:05}"},
		{"seq", "create", "receipts", "--reset", "yearly", "--late", "366d", "--format", "R-{date:yyyy}/{seq:04}"},
		{"seq", "next", "receipts", "--period", lastYear, "--from", "813"},
	} {
		args = append(args, "--addr", members[0].api)
		if secret != nil {
			args = append(args, "--secret-file", *members[0].secret.Load())
		}
		if _, stderr, code := command(t, nil, args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	return members, addresses
}

// start starts the program in a mode.
func (p redisProgram) start(t *testing.T, input io.Reader, args ...string) *process {
	t.Helper()
	all := append(append([]string{}, p.args[1:]...), args...)
	env := append([]string{"LAST_YEAR=" + lastYear}, p.env...)
	return startBy(t, func(cmd *exec.Cmd) error { cmd.Stdin = input; return cmd.Start() }, p.args[0], env, all...)
}

// uses checks the answers that a program got.
func (p redisProgram) uses(t *testing.T, args ...string) {
	t.Helper()
	started := p.start(t, nil, args...)
	if code := started.exit(); code != 0 {
		t.Errorf("%s: exit code %d\n%s", args[0], code, started.stderr.tail(12))
		return
	}
	var got struct {
		Incr, IncrBy int64
		Get          string
		Pipeline     []int64
		IDs          []string // a number instead of a string does not fit
		Next, Late   []string
	}
	if err := json.Unmarshal([]byte(started.stdout.String()), &got); err != nil {
		t.Errorf("%s: %v in %s", args[0], err, started.stdout.String())
		return
	}
	if got.Incr != 1 || got.IncrBy != 10 || got.Get != "10" || !reflect.DeepEqual(got.Pipeline, []int64{11, 12, 13}) {
		t.Errorf("%s: numbers %+v", args[0], got)
	}
	if len(got.IDs) != 3 || len(got.IDs[0]) < 15 || got.IDs[0] == got.IDs[1] || got.IDs[1] == got.IDs[2] {
		t.Errorf("%s: IDs %q", args[0], got.IDs)
	}
	if next := strings.Join(got.Next, " "); !regexp.MustCompile(`^\d+ B-\d{5} $`).MatchString(next) {
		t.Errorf("%s: text %q", args[0], next)
	}
	if late := strings.Join(got.Late, " "); !regexp.MustCompile(`^(\d+) R-` + lastYear + `/0\d{3} ` + lastYear + `-01-01$`).MatchString(late) {
		t.Errorf("%s: a number of the last year %q", args[0], late)
	}
}

// surviveKill kills the member that most programs use, and waits until all have numbers of another member.
func surviveKill(t *testing.T, programs []redisProgram, members []*member, addresses []string) {
	var inputs []io.Writer
	var running []*process
	for _, p := range programs {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		inputs = append(inputs, w)
		running = append(running, p.start(t, r, append([]string{"several"}, addresses...)...))
	}
	t.Cleanup(func() {
		for i, p := range running {
			if t.Failed() {
				t.Logf("%s %s wrote %q and\n%s", programs[i].name, programs[i].version, p.stdout.String(), p.stderr.tail(12))
			}
		}
	})
	rounds := func(n int) {
		for i, p := range running {
			until(t, programs[i].name+" "+programs[i].version+" takes numbers", func() bool {
				if !p.running() {
					t.Fatalf("%s %s ended:\n%s", programs[i].name, programs[i].version, p.stderr.tail(12))
				}
				return strings.Count(p.stdout.String(), "took numbers") >= n
			})
		}
	}
	rounds(1)
	members[0].kill()
	for _, w := range inputs {
		if _, err := io.WriteString(w, "\n"); err != nil {
			t.Fatal(err)
		}
	}
	rounds(2)
}

// buildRedisPrograms installs the libraries at their pinned versions, but checks the version of Debian's packages.
func buildRedisPrograms(t *testing.T) (programs []redisProgram) {
	t.Helper()
	from, err := filepath.Abs("testdata/redisclients")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(path string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", path, args, err, out)
		}
		return string(out)
	}
	run("go", "build", "-C", from, "-o", filepath.Join(dir, "client"), ".")
	run("cp", filepath.Join(from, "node", "package.json"), dir)
	run("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")
	for _, l := range redisLibraries(t) {
		p := redisProgram{redisLibrary: l}
		target := filepath.Join(dir, l.language, l.key+"-"+l.version)
		switch l.language {
		case "Go":
			p.args = []string{filepath.Join(dir, "client"), l.key}
		case "JavaScript":
			p.args, p.env = []string{"node", filepath.Join(from, "node", "client.mjs"), l.key}, []string{"MODULES=" + dir}
		case "Python":
			run("python3", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", target, l.key+"=="+l.version)
			p.args, p.env = []string{"python3", filepath.Join(from, "python", "client.py"), "redis-py-" + l.version}, []string{"PYTHONPATH=" + target}
		case "Java":
			run("mvn", "-q", "-B", "-f", filepath.Join(from, "java", "pom.xml"), "dependency:copy-dependencies",
				"-D"+l.key+"="+l.version, "-DoutputDirectory="+target)
			classes := target + ":" + filepath.Join(target, "*")
			run("javac", "-d", target, "-cp", classes, filepath.Join(from, "java", "Client.java"))
			p.args = []string{"java", "-cp", classes, "Client", l.key + "-" + l.version}
		case "PHP":
			p.args = []string{"php", filepath.Join(from, "php", "client.php"), l.key}
		case "Ruby":
			p.args = []string{"ruby", filepath.Join(from, "ruby", "client.rb"), l.key}
		case "C":
			run("cc", "-Wall", "-Werror", "-o", "hiredis", filepath.Join(from, "c", "client.c"), "-lhiredis")
			p.args, p.noTLS = []string{filepath.Join(dir, "hiredis"), l.key}, true
		}
		switch l.language {
		case "PHP", "Ruby", "C":
			if installed := run("dpkg-query", "-W", "-f", "${Version}", l.key); !strings.HasPrefix(installed, l.version) {
				t.Errorf("%s of Debian has version %s, and debian.txt says %s", l.key, installed, l.version)
			}
		}
		programs = append(programs, p)
	}
	return programs
}
