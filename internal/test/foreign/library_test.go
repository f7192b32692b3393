//go:build foreign

package foreign_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// library is a library to play. Its name is that in the list of recipes.
type library struct {
	name   string
	layout *snowflake.Layout
	count  int
	// program returns the command of a program that makes that many IDs.
	program func(t *testing.T, count int) []string
	// worker are the variables in which the program expects its worker: %[1]d is the number, %[2]d and %[3]d are its parts of 5 bits.
	worker string
	image  string        // the variables of an image whose copies all have one worker
	ahead  time.Duration // greatest lead of an ID over the clock
}

func libraries() []library {
	const million = 1_000_000
	return []library{
		{"MyBatis-Plus", preset("mybatis"), million, java("mybatis"),
			"MYBATISPLUS_GLOBALCONFIG_SEQUENCE_DATACENTERID=%[2]d MYBATISPLUS_GLOBALCONFIG_SEQUENCE_WORKERID=%[3]d", "", 0},
		{"Hutool", preset("hutool"), million, java("hutool"), "DATACENTER=%[2]d WORKER=%[3]d", "", 0},
		{"tsid-creator", preset("tsid"), million, java("tsid-creator"), "TSIDCREATOR_NODE=%[1]d", "TSIDCREATOR_NODE=1", time.Second},
		{"hypersistence-tsid", preset("tsid"), million, java("hypersistence-tsid"), "TSID_NODE=%[1]d", "TSID_NODE=1", time.Second},
		{"CosId", preset("cosid"), million, java("cosid"),
			"COSID_MACHINE_DISTRIBUTOR_MANUAL_MACHINEID=%[1]d", "COSID_MACHINE_DISTRIBUTOR_MANUAL_MACHINEID=1", 0},
		{"bwmarrin/snowflake", preset("leaf"), million, golang("bwmarrin"), "WORKER=%[1]d", "WORKER=1", 0},
		{"sonyflake", preset("sonyflake"), 20_000, golang("sonyflake"), "WORKER=%[1]d", "WORKER=1", 0},
		{"flake-idgen", unix("time:42,worker:10,sequence:12"), million, node, "WORKER=%[1]d", "WORKER=1", 0},
		{"snowflake-id", unix("time:41,worker:10,sequence:12"), million, python, "WORKER=%[1]d", "WORKER=1", 0},
	}
}

// with returns variables that give a worker to the program.
func (l library) with(worker int) []string {
	return strings.Fields(fmt.Sprintf(l.worker, worker, worker>>5, worker&31))
}

func preset(name string) *snowflake.Layout {
	l, _ := snowflake.Preset(name)
	return l
}

// unix returns a layout of milliseconds since 1970.
func unix(text string) *snowflake.Layout {
	fields, _ := snowflake.ParseFields(text)
	return snowflake.MustNew(snowflake.Spec{Name: "library", Fields: fields, UnitMillis: 1, LeaseOnly: true})
}

// shared is the folder of what the tests share: the program, and copies of the folders of testdata.
var shared string

// prepared names the folders of testdata whose programs are ready.
var prepared = map[string]bool{}

func TestMain(m *testing.M) {
	var err error
	if shared, err = os.MkdirTemp("", "foreign"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	stopCluster()
	_ = os.RemoveAll(shared)
	os.Exit(code)
}

// in returns a copy of a folder of testdata in which a command prepared the program. The command runs once per folder.
func in(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	dir := filepath.Join(shared, folder)
	if prepared[folder] {
		return dir
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", folder))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	prepared[folder] = true
	return dir
}

func java(name string) func(*testing.T, int) []string {
	return func(t *testing.T, count int) []string {
		dir := in(t, "java", "sh", "-c", "mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib && javac -cp 'lib/*' Play.java")
		return []string{"java", "-XX:-UsePerfData", // no files in /tmp that are named by PID
			"-cp", dir + "/lib/*:" + dir, "Play", name, strconv.Itoa(count)}
	}
}

func golang(name string) func(*testing.T, int) []string {
	return func(t *testing.T, count int) []string {
		dir := in(t, "go", "go", "build", "-o", "play", ".")
		return []string{filepath.Join(dir, "play"), name, strconv.Itoa(count)}
	}
}

func node(t *testing.T, count int) []string {
	dir := in(t, "js", "npm", "install", "--silent", "--no-audit", "--no-fund")
	return []string{"node", filepath.Join(dir, "play.js"), strconv.Itoa(count)}
}

func python(t *testing.T, count int) []string {
	return []string{"python3", filepath.Join(pythonDir(t), "play.py"), strconv.Itoa(count)}
}

func pythonDir(t *testing.T) string {
	return in(t, "python", "python3", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", ".",
		"snowflake-id==1.0.2", "gunicorn==23.0.0")
}
