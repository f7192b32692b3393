package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// newest returns the client with the newest runtime of this machine.
func (c client) newest() client {
	if c.command[0] == "java" {
		c.command = append([]string{newestJava()}, c.command[1:]...)
	}
	return c
}

// newestJava returns the java of the newest JDK in /usr/lib/jvm, or the one in the path. A directory has the version as its first number.
func newestJava() string {
	best, program := 0, "java"
	releases, _ := filepath.Glob("/usr/lib/jvm/*/release") // the pattern is well-formed
	for _, name := range releases {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		var version int
		if _, rest, found := strings.Cut(string(text), "JAVA_VERSION=\""); !found {
			continue
		} else if _, err := fmt.Sscan(rest, &version); err != nil { // "25.0.3"
			continue
		}
		if version > best {
			best, program = version, filepath.Join(filepath.Dir(name), "bin", "java")
		}
	}
	return program
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
