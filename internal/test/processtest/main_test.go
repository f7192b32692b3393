//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// program is the path of the program under test.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run is TestMain with deferred calls, which os.Exit would skip.
func run(m *testing.M) int {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		return m.Run()
	}
	if left, err := choose(os.Args[0]); err != nil || !left {
		return fail(err)
	}
	dir, err := os.MkdirTemp("", "snowraft-process-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "snowraft")
	if output, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../../cmd/snowraft").CombinedOutput(); err != nil {
		return fail(fmt.Errorf("go build: %w\n%s", err, output))
	}
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		// Parallel tests usually wait for events other than the processors.
		if err := parallel.Value.Set("6"); err != nil {
			return fail(err)
		}
	}
	return m.Run()
}

// fail prints an error, if there is one, and returns the exit code.
func fail(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
