package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine returns a description of this machine.
func machine() string {
	processors := "processors"
	if runtime.NumCPU() == 1 {
		processors = "processor"
	}
	return fmt.Sprintf("%d %s (%s), %s, %s", runtime.NumCPU(), processors, model(), runtime.GOOS, strings.Replace(runtime.Version(), "go", "Go ", 1))
}

// model returns the name of the processors, or their architecture if the name is unknown.
func model() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return runtime.GOARCH
}
