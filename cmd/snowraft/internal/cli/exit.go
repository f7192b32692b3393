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
	// ExitDiffers is the code of a dry run that found differences.
	ExitDiffers = 4
	// ExitRemoved is the code of a member that was removed from its cluster. It is neither 2, with which the Go runtime exits
	// after a panic and SIGABRT, nor a code that systemd names after another cause, such as 4 (NOPERMISSION).
	ExitRemoved = 10
)

// exit is an error with its own exit code.
type exit struct {
	error // nil: nothing is printed
	code  int
}

func (e exit) Unwrap() error { return e.error }

// Exit returns an error that makes the program exit with a code. It is printed unless err is nil.
func Exit(code int, err error) error { return exit{err, code} }

// Usagef returns the error of a wrong command line, environment or configuration file. The command must have done nothing.
func Usagef(format string, args ...any) error {
	return exit{fmt.Errorf(format, args...), ExitUsage}
}

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
	if failed, ok := errors.AsType[*client.Error](err); ok && failed.Repeatable() && transportHint(failed) == "" {
		return ExitRepeatable
	}
	return ExitFailed
}
