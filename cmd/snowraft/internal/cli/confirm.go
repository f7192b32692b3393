package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Confirm adds the flag --yes to a command that cannot be undone. The function returned requests consent from the person at
// the terminal, and returns an error without it. It requests nothing with --yes, and without a terminal, as in scripts.
func (a *App) Confirm(cmd *cobra.Command) (ask func(format string, args ...any) error) {
	var yes bool
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation on a terminal")
	return func(format string, args ...any) error {
		if yes || !a.Attended() {
			return nil
		}
		fmt.Fprintf(a.Stderr, "%s [y/N] ", fmt.Sprintf(format, args...))
		line, _ := bufio.NewReader(a.Stdin).ReadString('\n') // a failed read means no consent
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return errors.New("not confirmed; nothing was done")
	}
}
