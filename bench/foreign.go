package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// foreign is a running driver of the conformance suite, which calls a cluster through the client of another language.
type foreign struct {
	name string
	file string // receives the numbers
	in   io.Writer
	out  *bufio.Reader
	last int
}

// startForeign starts a driver and opens its client.
func (e *env) startForeign(ctx context.Context, members []*member, command []string, started *closers) (*foreign, error) {
	dir, err := e.temp("foreign")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the arguments are constants of this program
	cmd.Dir, cmd.Stderr, cmd.SysProcAttr = e.root, os.Stderr, withParent()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	started.add(func() error { return errors.Join(in.Close(), cmd.Wait()) }) // the end of its input ends a driver
	d := &foreign{name: command[len(command)-1], file: filepath.Join(dir, "numbers"), in: in, out: bufio.NewReader(out)}
	var addresses []string
	for _, m := range members {
		addresses = append(addresses, m.http)
	}
	return d, d.call("open", map[string]any{"client": "bench", "addresses": addresses}, &struct{}{})
}

// call performs an operation, and stores its answer in ok.
func (d *foreign) call(op string, args map[string]any, ok any) error {
	d.last++
	request, err := json.Marshal(map[string]any{"id": d.last, "op": op, "args": args})
	if err != nil {
		return err
	}
	if _, err := d.in.Write(append(request, '\n')); err != nil {
		return fmt.Errorf("%s: %w: expected its driver, run \"make bench-clients\" first", d.name, err)
	}
	line, err := d.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s: %w: expected its driver, run \"make bench-clients\" first", d.name, err)
	}
	var answer struct {
		ID    int             `json:"id"`
		OK    json.RawMessage `json:"ok"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.ID != d.last || answer.Error != nil {
		return fmt.Errorf("%s: %s: %.500s (%w)", d.name, op, line, err)
	}
	return json.Unmarshal(answer.OK, ok)
}

// turn returns a turn of callers that request strict numbers. kind is that of the driver's operation. The turn fails if a call fails. On a busy machine, callers may need
// longer than the turn for their first numbers.
func (d *foreign) turn(kind, sequence string, callers int) turn {
	return func(ctx context.Context, duration time.Duration) (figures, error) {
		issued, elapsed := 0, stopwatch()
		for issued == 0 && ctx.Err() == nil {
			var result struct {
				Issued int            `json:"issued"`
				Errors map[string]int `json:"errors"`
			}
			if err := d.call("run", map[string]any{
				"kind": kind, "name": "bench", "sequence": sequence, "threads": callers, "ms": duration.Milliseconds(), "file": d.file,
			}, &result); err != nil {
				return nil, err
			}
			if len(result.Errors) > 0 {
				return nil, fmt.Errorf("%s: errors %v", d.name, result.Errors)
			}
			issued += result.Issued
		}
		return figures{calls: float64(issued) / elapsed().Seconds()}, ctx.Err()
	}
}
