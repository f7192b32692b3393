package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snowraft/snowraft/client"
)

// The exit codes; "snowraft help exit-codes" explains them.
const (
	ExitDone       = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitRepeatable = 3
)

// usageError says that the command line, the environment or the configuration
// file is wrong: nothing was tried.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// Usagef returns an error that makes the program exit with ExitUsage.
func Usagef(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// Warn prints a warning: something to know that does not make the command fail.
func (a *App) Warn(format string, args ...any) {
	_, style := a.Terminal(a.Stderr)
	fmt.Fprintf(a.Stderr, "%s %s\n", style.Red("snowraft: warning:"), fmt.Sprintf(format, args...))
}

// Exit prints err, if any, and returns the exit code.
func (a *App) Exit(err error) int {
	if err == nil {
		return ExitDone
	}
	_, style := a.Terminal(a.Stderr)
	text := strings.TrimRight(err.Error(), "\n")
	fmt.Fprintf(a.Stderr, "%s %s\n", style.Red("snowraft:"), text)
	if _, usage := errors.AsType[*usageError](err); usage {
		return ExitUsage
	}
	if failed, ok := errors.AsType[*client.Error](err); ok && failed.Repeatable() {
		return ExitRepeatable
	}
	return ExitFailed
}
