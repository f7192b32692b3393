//go:build process || browser || prometheus

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
	dir, err := os.MkdirTemp("", "snowraft-process-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "snowraft")
	if output, err := exec.Command("go", "build", "-o", program, "../../cmd/snowraft").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, output)
		return 1
	}
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		// Parallel tests usually wait for events other than the processors.
		if err := parallel.Value.Set("4"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}
