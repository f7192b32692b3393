//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/test/eighth"
)

var (
	onlyPromises = flag.Bool("promises", false, "run only the tests that show the promises")
	onlySlice    = flag.Uint("slice", 0, "run only one eighth, 1 to 8, of the tests that show no promise")
)

// promise is a property on which users rely, and the test that shows it.
type promise struct {
	what string
	test func(*testing.T)
}

// promises lists the promises that the tests of the present build tags show.
var promises []promise

// name returns the name of the test.
func (p promise) name() string {
	path := runtime.FuncForPC(reflect.ValueOf(p.test).Pointer()).Name()
	return path[strings.LastIndexByte(path, '.')+1:]
}

// choose restricts the flag test.run to the tests that the flags -promises and -slice choose. It reports whether tests are left.
func choose(self string) (left bool, err error) {
	if !*onlyPromises && *onlySlice == 0 {
		return true, nil
	}
	if *onlyPromises && *onlySlice > 0 || *onlySlice > eighth.Slices {
		return false, errors.New("expected -promises, or -slice from 1 to 8")
	}
	shows := make(map[string]string)
	for _, p := range promises {
		shows[p.name()] = p.what
	}
	run := flag.Lookup("test.run").Value
	tests, subtests, some := strings.Cut(run.String(), "/")
	listed, err := exec.Command(self, "-test.list", cmp.Or(tests, ".")).Output()
	if err != nil {
		return false, err
	}
	var chosen []string
	all := 0
	for name := range strings.Lines(string(listed)) {
		if name = strings.TrimSpace(name); !strings.HasPrefix(name, "Test") {
			continue
		}
		all++
		if what, ok := shows[name]; ok && *onlyPromises {
			fmt.Fprintf(os.Stdout, "%s: %s\n", name, what)
			chosen = append(chosen, name)
		} else if !ok && int(*onlySlice) == eighth.Of(name) {
			chosen = append(chosen, name)
		}
	}
	fmt.Fprintf(os.Stdout, "%d of %d tests selected\n", len(chosen), all)
	if *onlyPromises && len(chosen) == 0 {
		return false, errors.New("no selected test shows a promise")
	}
	pattern := "^(" + strings.Join(chosen, "|") + ")$"
	if some {
		pattern += "/" + subtests
	}
	return len(chosen) > 0, run.Set(pattern)
}
