package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The earlier commits that sections compare with this tree.
const (
	callsCommit = "6c7eb7a" // last Go client that sent no requests on streams
	plainCommit = "dd61852" // last members without the features for document numbers
)

// driver is a process that calls a cluster through the Go client.
type driver struct{ address string }

// earlier returns an environment with the repository and the program of a commit.
func (e *env) earlier(ctx context.Context, commit string) (*env, error) {
	root, err := e.checkout(ctx, commit)
	if err != nil {
		return nil, err
	}
	past := *e
	past.root, past.snowraft = root, filepath.Join(e.dir, "snowraft-"+commit)
	build := exec.CommandContext(ctx, "go", "build", "-o", past.snowraft, "./cmd/snowraft") //nolint:gosec // all of it is of this program
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	_, err = output(build)
	return &past, err
}

// checkout returns a directory with the repository at a commit, and with the current source of the driver.
func (e *env) checkout(ctx context.Context, commit string) (root string, err error) {
	if _, err := e.git(ctx, "cat-file", "-e", commit+"^{tree}"); err != nil {
		return "", &skippedError{fmt.Sprintf("commit %s is not in the history here, expected a clone with all of it (git fetch --unshallow)", commit)}
	}
	if root, err = e.temp("earlier"); err != nil {
		return "", err
	}
	archive := filepath.Join(e.dir, "earlier.tar")
	if _, err := e.git(ctx, "archive", "--output", archive, commit); err != nil {
		return "", err
	}
	if _, err := output(exec.CommandContext(ctx, "tar", "-xf", archive, "-C", root)); err != nil { //nolint:gosec // all of it is of this program
		return "", err
	}
	old := filepath.Join(root, "bench", "driver")
	if err := os.RemoveAll(old); err != nil {
		return "", err
	}
	return root, os.CopyFS(old, os.DirFS(filepath.Join(e.root, "bench", "driver")))
}

func (e *env) git(ctx context.Context, args ...string) ([]byte, error) {
	return output(exec.CommandContext(ctx, "git", append([]string{"-C", e.root}, args...)...)) //nolint:gosec // all of it is of this program
}

// startDriver builds and starts the driver.
func (e *env) startDriver(ctx context.Context, name string, started *closers) (d driver, err error) {
	program := filepath.Join(e.dir, "driver-"+name)
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./driver") //nolint:gosec // all of it is of this program
	build.Dir = filepath.Join(e.root, "bench")
	if _, err := output(build); err != nil {
		return d, err
	}
	d.address, err = e.startServer(name, nil, started, program)
	return d, err
}

// output runs a program and returns its standard output. Its error contains the standard error of the program.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// drive is the work of a driver in a turn.
type drive struct {
	addresses        []string
	sequence         string // name of the sequence; empty: IDs
	clients, callers int    // callers: per client
}

// turn returns a turn of the driver. It opens clients for the turn and lets them warm up.
func (d driver) turn(of drive) turn {
	return func(ctx context.Context, duration time.Duration) (figures, error) {
		query := url.Values{
			"addresses": {strings.Join(of.addresses, ",")}, "sequence": {of.sequence},
			"clients": {strconv.Itoa(of.clients)}, "callers": {strconv.Itoa(of.callers)},
			"warm": {max(duration/4, 100*time.Millisecond).String()}, "duration": {duration.String()},
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.address+"/?"+query.Encode(), http.NoBody)
		if err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }() // the body was read to its end
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusOK {
			return nil, errors.New(strings.TrimSpace(string(body)))
		}
		var measured figures
		err = json.Unmarshal(body, &measured)
		return measured, err
	}
}
