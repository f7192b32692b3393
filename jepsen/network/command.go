//go:build linux

package network

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// run runs a program in the namespace with the input as its standard input. The program inherits the file, if any, as
// file descriptor 3. An error includes the program's standard error.
func (s *space) run(ctx context.Context, input string, file *os.File, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the programs are this package's and its callers'
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &complaint
	if file != nil {
		cmd.ExtraFiles = []*os.File{file}
	}
	if err := s.do(cmd.Run); err != nil {
		said := strings.Join(strings.Fields(complaint.String()), " ")
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said)
	}
	return nil
}

// ip runs commands of ip(8) and stops at the first that fails.
func (s *space) ip(ctx context.Context, file *os.File, commands ...string) error {
	return s.run(ctx, strings.Join(commands, "\n")+"\n", file, "ip", "-batch", "-")
}
