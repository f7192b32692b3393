package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// The parts into which the time of a server is divided.
const (
	partSyscalls  = "system calls for reading, writing and waiting"
	partMemory    = "memory allocation and garbage collection"
	partStacks    = "growth of goroutine stacks"
	partScheduler = "switches between goroutines"
	partProtobuf  = "protobuf"
	partGRPC      = "gRPC and HTTP/2"
	partOurs      = "the method and the code around it"
	partRest      = "everything else"
)

var parts = []string{partSyscalls, partGRPC, partMemory, partScheduler, partStacks, partProtobuf, partOurs, partRest}

// profiled returns the time of a process in milliseconds, by part.
func profiled(ctx context.Context, program, file string) (map[string]float64, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "pprof", "-traces", "-unit", "ms", program, file) //nolint:gosec // both are of this program
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return nil, fmt.Errorf("go tool pprof: %w", err)
	}
	return byPart(string(out))
}

// byPart parses the output of pprof -traces. It consists of stacks, innermost function first. Each stack follows
// a line of dashes, with the time of all its samples before the first function.
func byPart(traces string) (map[string]float64, error) {
	times := map[string]float64{}
	var (
		took  float64
		stack []string
	)
	end := func() {
		if len(stack) > 0 {
			times[partOf(stack)] += took
		}
		stack = nil
	}
	header := true
	for lines := bufio.NewScanner(strings.NewReader(traces)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "-----------+") {
			end()
			header = false
			continue
		}
		fields := strings.Fields(strings.TrimSuffix(lines.Text(), " (inline)"))
		if header || len(fields) == 0 {
			continue
		}
		if len(stack) == 0 {
			if len(fields) < 2 {
				return nil, fmt.Errorf("pprof prints %q, expected a time and a function", lines.Text())
			}
			ms, err := strconv.ParseFloat(strings.TrimSuffix(fields[0], "ms"), 64)
			if err != nil {
				return nil, fmt.Errorf("pprof prints %q, expected a time in ms", lines.Text())
			}
			took, fields = ms, fields[1:]
		}
		stack = append(stack, strings.Join(fields, " "))
	}
	end()
	if len(times) == 0 {
		return nil, errors.New("the profile is empty, expected a longer --duration")
	}
	return times, nil
}

// partOf returns the part that a stack belongs to. The innermost function is first.
func partOf(stack []string) string {
	for _, known := range []struct{ part, prefixes string }{
		{partSyscalls, "internal/runtime/syscall syscall. runtime.netpoll runtime.epollwait"},
		{partMemory, "runtime.gcBgMarkWorker runtime.mallocgc runtime.gcAssistAlloc runtime.bgsweep runtime.bgscavenge runtime.gcStart runtime.(*mheap) runtime.gcMark runtime.growslice runtime.wbBufFlush"},
		{partStacks, "runtime.newstack runtime.morestack runtime.copystack"},
	} {
		for _, function := range stack {
			for prefix := range strings.FieldsSeq(known.prefixes) {
				if strings.HasPrefix(function, prefix) {
					return known.part
				}
			}
		}
	}
	scheduling := true
	for _, function := range stack {
		switch {
		case strings.HasPrefix(function, "google.golang.org/protobuf/"):
			return partProtobuf
		case strings.HasPrefix(function, "google.golang.org/grpc"), strings.HasPrefix(function, "golang.org/x/net/http2"):
			return partGRPC
		case strings.HasPrefix(function, "github.com/snowraft/"):
			return partOurs
		case !strings.HasPrefix(function, "runtime."):
			scheduling = false
		}
	}
	if scheduling {
		return partScheduler
	}
	return partRest
}
