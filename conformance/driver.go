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
	"slices"
	"sync"
	"time"
)

// callTimeout bounds a call of a driver, on the slowest machine. A driver that needs longer hangs.
const callTimeout = 10 * time.Minute

// args holds the arguments of an operation.
type args map[string]any

// driver is a running driver.
type driver struct {
	name     string
	features []string
	cmd      *exec.Cmd
	in       io.WriteCloser
	exited   func() error  // waits for the end of the process
	ended    chan struct{} // closed when the driver has closed its output

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
}

// answer is a line of a driver.
type answer struct {
	ID    int             `json:"id"`
	OK    json.RawMessage `json:"ok"`
	Error *failure        `json:"error"`
	IDs   []string        `json:"ids"` // the IDs before an error
}

// failure is the error of an operation.
type failure struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Retry   bool   `json:"retry"`
	Unknown bool   `json:"unknown"`
}

// Error implements error.
func (f *failure) Error() string { return fmt.Sprintf("%s: %s", f.Reason, f.Message) }

// start starts a driver and says hello. Its standard error goes to a file.
func (s *suite) start(ctx context.Context, c client) (*driver, error) {
	return s.launch(ctx, c, func(cmd *exec.Cmd) (func() error, error) { return cmd.Wait, cmd.Start() })
}

// launch starts a driver as start does. The function begin starts its process, and returns another one that waits for its end.
func (s *suite) launch(ctx context.Context, c client, begin func(*exec.Cmd) (wait func() error, err error)) (*driver, error) {
	argv := c.argv(s.dir)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	log, err := os.CreateTemp(s.dir, c.name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the driver has its own handle
	cmd.Stderr = log
	d := &driver{name: c.name, cmd: cmd, ended: make(chan struct{}), waiting: make(map[int]chan answer)}
	if d.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if d.exited, err = begin(cmd); err != nil {
		return nil, fmt.Errorf("driver of %s: %w", c.name, err)
	}
	go d.read(out)
	var hello struct {
		Features []string `json:"features"`
	}
	if err := d.call("hello", args{}, &hello); err != nil {
		d.kill()
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("driver of %s: %w\n%.2000s", c.name, err, text)
	}
	d.features = hello.Features
	return d, nil
}

// has reports whether the driver has a feature.
func (d *driver) has(feature string) bool { return slices.Contains(d.features, feature) }

// read passes on answers until the driver ends.
func (d *driver) read(out io.Reader) {
	defer close(d.ended)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			a = answer{Error: &failure{Reason: "DRIVER", Message: fmt.Sprintf("not an answer: %.200s", line)}}
		}
		d.mu.Lock()
		waiting := d.waiting[a.ID]
		delete(d.waiting, a.ID)
		d.mu.Unlock()
		if waiting != nil {
			waiting <- a
		}
	}
}

// pending is an operation in progress.
type pending struct {
	*driver
	id int
	ch chan answer
	op string
}

// begin starts an operation.
func (d *driver) begin(op string, with args) (*pending, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	p := &pending{d, d.last, make(chan answer, 1), op}
	d.waiting[p.id] = p.ch
	line, err := json.Marshal(struct {
		ID   int    `json:"id"`
		Op   string `json:"op"`
		Args args   `json:"args"`
	}{p.id, op, with})
	if err != nil {
		return nil, err
	}
	_, err = d.in.Write(append(line, '\n'))
	return p, err
}

// wait waits for the answer, and decodes it into ok unless that is nil. It returns the IDs that came with an error.
func (p *pending) wait(ok any) (ids []string, err error) { return p.within(callTimeout, ok) }

// within waits as wait does, for at most a time.
func (p *pending) within(limit time.Duration, ok any) (ids []string, err error) {
	select {
	case a := <-p.ch:
		if a.Error != nil {
			return a.IDs, a.Error
		}
		if ok == nil {
			return nil, nil
		}
		if err := json.Unmarshal(a.OK, ok); err != nil {
			return nil, fmt.Errorf("%s answered %.200s: %w", p.op, a.OK, err)
		}
		return nil, nil
	case <-p.ended:
		return nil, fmt.Errorf("%s: the driver ended", p.op)
	case <-time.After(limit):
		return nil, fmt.Errorf("%s: no answer of the driver in %v", p.op, limit)
	}
}

// call performs an operation.
func (d *driver) call(op string, with args, ok any) error {
	p, err := d.begin(op, with)
	if err != nil {
		return err
	}
	_, err = p.wait(ok)
	return err
}

// refused performs an operation that must fail with a reason, and returns the failure.
func (d *driver) refused(op string, with args, reasons ...string) (*failure, error) {
	err := d.call(op, with, nil)
	f, ok := errors.AsType[*failure](err)
	switch {
	case err == nil:
		return nil, fmt.Errorf("%s %v succeeded, want %v", op, with, reasons)
	case !ok:
		return nil, err
	case !slices.Contains(reasons, f.Reason):
		return f, fmt.Errorf("%s %v: %w, want %v", op, with, f, reasons)
	}
	return f, nil
}

// quit closes the driver's input and waits for its end, which must be orderly.
func (d *driver) quit() error {
	_ = d.in.Close()
	select {
	case <-d.ended:
	case <-time.After(callTimeout):
		d.kill()
		return errors.New("the driver did not end when its input did")
	}
	if err := d.exited(); err != nil {
		return fmt.Errorf("the driver ended with %w", err)
	}
	return nil
}

// kill ends the driver at once.
func (d *driver) kill() {
	_ = d.in.Close()
	_ = d.cmd.Process.Kill()
	<-d.ended
	_ = d.exited()
}
