package main

import (
	"os"
	"path/filepath"
)

// client is a client library with its driver.
type client struct {
	name string
	// command starts the driver. Paths are relative to the root of the repository. A variable replaces the command, for a driver that
	// uses an installed package.
	command  []string
	variable string
}

var clients = []client{
	{"go", []string{"{dir}/driver-go"}, "CONFORMANCE_GO"},
	{"typescript", []string{"node", "clients/typescript/driver/main.mjs"}, "CONFORMANCE_TYPESCRIPT"},
	{"java", []string{"java", "-jar", "clients/java/driver/target/driver.jar"}, "CONFORMANCE_JAVA"},
	{"python", []string{"clients/python/driver/run"}, "CONFORMANCE_PYTHON"},
	{"python-aio", []string{"clients/python/driver/run", "--aio"}, "CONFORMANCE_PYTHON_AIO"},
}

// argv returns the command line of the driver.
func (c client) argv(dir string) []string {
	if line := os.Getenv(c.variable); line != "" {
		return []string{"sh", "-c", "exec " + line}
	}
	argv := append([]string(nil), c.command...)
	if argv[0] == "{dir}/driver-go" {
		argv[0] = filepath.Join(dir, "driver-go")
	}
	return argv
}
