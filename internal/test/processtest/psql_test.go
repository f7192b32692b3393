//go:build databases

package processtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// connection is a connection of an application to the database. An open transaction stays open until the application ends it
// or crashes.
type connection struct {
	t      *testing.T
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
}

// connect connects to the PostgreSQL whose socket is in a folder.
func connect(t *testing.T, folder string) *connection {
	t.Helper()
	c := &connection{t: t, cmd: exec.Command(installed(t, "psql", "postgresql"), "-X", "-qAt", "-v", "VERBOSITY=sqlstate", "-h", folder, "-U", "postgres")}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdout, c.cmd.Stderr, c.output = w, w, bufio.NewReader(r)
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() { c.crash(); _ = r.Close() })
	return c
}

// run runs SQL, which must succeed, and returns the lines of its rows.
func (c *connection) run(sql string) string {
	c.t.Helper()
	rows, state := c.try(sql)
	if state != "" {
		c.t.Fatalf("%s: error %s", sql, state)
	}
	return rows
}

// try runs SQL, and returns the lines of its rows and the SQLSTATE of its first error; empty if there is none.
func (c *connection) try(sql string) (rows, state string) {
	c.t.Helper()
	const end = "end of the answer"
	if _, err := fmt.Fprintf(c.input, "%s\n\\echo %s\n", sql, end); err != nil {
		c.t.Fatal(err)
	}
	for {
		line, err := c.output.ReadString('\n')
		if err != nil {
			return rows, "the connection is lost"
		}
		line = strings.TrimSuffix(line, "\n")
		if line == end {
			return strings.TrimSuffix(rows, "\n"), state
		}
		if _, code, failed := strings.Cut(line, "ERROR:  "); failed {
			if state == "" {
				state = code
			}
		} else {
			rows += line + "\n"
		}
	}
}

// send sends SQL and does not wait for the answer.
func (c *connection) send(sql string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.input, sql); err != nil {
		c.t.Fatal(err)
	}
}

// crash kills the application. The server rolls its open transaction back.
func (c *connection) crash() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}
