package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/apijson"
)

// The exit codes; "snowraft help exit-codes" explains them.
const (
	ExitDone       = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitRepeatable = 3
	// ExitRemoved is the code of a member that was removed from its cluster. It is neither 2, with which the Go runtime exits
	// after a panic and SIGABRT, nor a code that systemd names after another cause, such as 4 (NOPERMISSION).
	ExitRemoved = 10
)

// usageError reports that the command line, the environment or the configuration
// file is wrong. The command has done nothing.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// Usagef returns a usage error, which makes the program exit with ExitUsage. The command must have done nothing.
func Usagef(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// forNow is an error of a command that may succeed later.
type forNow struct{ error }

func (e forNow) Unwrap() error { return e.error }

// ForNow wraps err so that the program exits with ExitRepeatable.
func ForNow(err error) error { return forNow{err} }

// removed is the error of a member that was removed from its cluster.
type removed struct{ error }

func (e removed) Unwrap() error { return e.error }

// Removed wraps err so that the program exits with ExitRemoved.
func Removed(err error) error { return removed{err} }

// exit is an error with its own exit code.
type exit struct {
	error // nil: nothing is printed
	code  int
}

func (e exit) Unwrap() error { return e.error }

// Exit returns an error that makes the program exit with a code. It is printed unless err is nil.
func Exit(code int, err error) error { return exit{err, code} }

// Warn prints a warning: a fact for the user that does not make the command fail.
func (a *App) Warn(format string, args ...any) {
	_, style := a.Terminal(a.Stderr)
	fmt.Fprintf(a.Stderr, "%s %s\n", style.Red("snowraft: warning:"), Visible(fmt.Sprintf(format, args...)))
}

// WarnUnreached warns of members that did not acknowledge a change in time, and of the consequence.
func (a *App) WarnUnreached(members []string, consequence string) {
	if len(members) > 0 {
		a.Warn("change committed; not acknowledged in time by members: %s; %s", strings.Join(members, ", "), consequence)
	}
}

// printError prints an error as text or, if JSON was requested and the status can be encoded, as a google.rpc.Status.
func (a *App) printError(err error) {
	if a.jsonErrors {
		if line, e := apijson.Marshal(statusOf(err)); e == nil {
			_, _ = a.Stderr.Write(append(line, '\n'))
			return
		}
	}
	_, style := a.Terminal(a.Stderr)
	fmt.Fprintf(a.Stderr, "%s %s\n", style.Red("snowraft:"), Visible(hide(strings.TrimRight(err.Error(), "\n"))))
}

// exit prints err, if any, to standard error and returns the exit code. It does not print secrets in err.
func (a *App) exit(err error) int {
	if err == nil {
		return ExitDone
	}
	own, coded := errors.AsType[exit](err)
	if !coded || own.error != nil {
		a.printError(err)
	}
	if coded {
		return own.code
	}
	if _, usage := errors.AsType[*usageError](err); usage {
		return ExitUsage
	}
	if _, gone := errors.AsType[removed](err); gone {
		return ExitRemoved
	}
	if _, repeatable := errors.AsType[forNow](err); repeatable {
		return ExitRepeatable
	}
	if failed, ok := errors.AsType[*client.Error](err); ok && failed.Repeatable() && transportHint(failed) == "" {
		return ExitRepeatable
	}
	return ExitFailed
}
