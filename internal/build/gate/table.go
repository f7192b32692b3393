package main

import (
	"fmt"
	"strings"
)

// raced are the packages whose goroutines share memory. The gate always runs their tests with the race detector; the race of
// all other packages is in the slices.
var raced = []string{
	"./allocator", "./client", "./cluster", "./cluster/gossip", "./cluster/leadership", "./cluster/lives", "./cluster/transport",
	"./internal/events", "./internal/member", "./internal/mux", "./internal/slots", "./internal/route",
	"./internal/share", "./server/conn", "./server/frontend", "./server/kernel", "./server/redis", "./trust",
}

// clientsSlice is the slice with the whole suite of the clients.
const clientsSlice = 4

// walks selects the walks over every order of steps.
const walks = "-run=^(TestEveryLife|TestEveryLedger|TestEveryBlock|TestEveryCall)$"

// table holds all parts, in the order in which they run: of a lane the longest first, so that no processor is idle at the end.
var table = []part{
	{
		name: "test", lane: alone, always: true,
		gate: each(tests("go", "test", "-json", "./...")), // README's test command
		full: each(whole(tests("go", "test", "-json", "-count=1", "-shuffle=on", "-timeout=30m", "./..."))),
	},
	{
		name: "tools", lane: alone, always: true, // several parts use them at the same time
		full: each(makes("bin/golangci-lint", "bin/govulncheck", "bin/python/ready")),
	},
	{
		name: "race", always: true,
		gate: raceOfSlice,
		full: each(ordinary(tests("make", "race", "TESTFLAGS=-json -count=1"))),
	},
	{
		name: "mutants", always: true,
		gate: func(w *work) ([]command, error) {
			return []command{tests("make", "mutants", fmt.Sprintf("TESTFLAGS=-json -mutant.since=%s -mutant.slice=%d", orZero(w.base), w.slice))}, nil
		},
		full: each(tests("make", "mutants", "TESTFLAGS=-json")),
	},
	{
		name: "walks", always: true, // over every order of steps, which draw nothing; one at a time at night, for their memory
		gate: each(whole(tests("go", "test", "-json", "-timeout=30m", walks, "./fsm", "./internal/member"))),
		full: each(night(tests("go", "test", "-json", "-count=1", "-timeout=6h", "-parallel=1", walks, "./fsm", "./internal/member"))),
	},
	{
		name: "release", slice: 4,
		paths: []string{
			"deploy/docker/", "deploy/linux/", "docs/install.md", "internal/build/image/", "internal/test/installtest/", "internal/build/sbom/",
			"internal/tools/chart.sh", "internal/tools/image.sh", "internal/tools/release", "internal/tools/static.sh", "internal/tools/version.sh",
		},
		gate: each(makes("release-check", "ONCE=yes"), tests("make", "install-check", "TESTFLAGS=-json")),
		full: each(makes("release-check"), tests("make", "install-check", "TESTFLAGS=-json")),
	},
	{
		name: "lint", always: true,
		full: each(makes("lint"), makes("tidy-check"), makes("rules")),
	},
	{
		name: "fuzz", // ordinary tests replay the corpora; a search may find something in any commit
		full: each(tests("make", "fuzz", "FUZZTIME=60s")),
	},
	{
		name: "innocents", // ordinary tests simulate a few of these histories
		full: each(tests("go", "test", "-json", "-count=1", "-timeout=12h", "-run=^TestInnocents$", "./internal/test/simtest", "-simtest.histories=100000")),
	},
	{
		name: "chart", slice: 2, paths: []string{"deploy/helm/", "cmd/snowraft/internal/serve/"},
		full: each(tests("make", "chart-check", "TESTFLAGS=-json")),
	},
	{
		name: "depth", always: true,
		gate: depthOfSlice,
		full: each(), // part of its test
	},
	{
		name: "bench", slice: 5, paths: []string{"bench/", "internal/load/"},
		full: each(makes("bench-check")),
	},
	{
		name: "vulncheck", always: true,
		gate: each(makes("bin/govulncheck"), warning(program("internal/tools/vulncheck.sh"))),
		full: each(makes("bin/govulncheck"), program("internal/tools/vulncheck.sh")),
	},
	{
		name: "protos", slice: 8, paths: []string{"proto/", "internal/tools/"},
		full: each(makes("proto-lint"), makes("proto-breaking"), makes("generate-check")),
	},
	{
		name: "cross", slice: 7, paths: []string{"go.mod", "go.sum"},
		full: each(makes("cross")),
	},
	{
		name: "process", lane: waits, always: true,
		gate: func(w *work) ([]command, error) {
			return []command{
				tests("make", "smoke", "TESTFLAGS=-json -promises=true"),
				whole(tests("make", "smoke", fmt.Sprintf("TESTFLAGS=-json -slice=%d", w.slice))),
			}, nil
		},
		full: each(whole(tests("make", "smoke", "TESTFLAGS=-json"))),
	},
	{
		name: "chaos", lane: waits, always: true,
		gate: func(w *work) ([]command, error) {
			seed := fmt.Sprint(w.seed)
			runs := []command{program("go", "run", "./jepsen", "run", "--secure", "--mixed", "--duration", "60s", "--tries", "3", "--seed", seed)}
			switch w.slice {
			case 4: // a minute of all faults rarely has a restore
				runs = append(runs, program("go", "run", "./jepsen", "run", "--secure", "--workload", "documents,ids,strict", "--nemesis", "restore,kill",
					"--max-window", "8s", "--duration", "75s", "--tries", "3", "--seed", seed))
			case 8:
				runs = append(runs, program("go", "run", "./jepsen", "run", "--duration", "90s", "--tries", "3", "--seed", seed))
			}
			return runs, nil
		},
		full: func(w *work) ([]command, error) {
			return []command{
				makes("chaos", fmt.Sprintf("CHAOSFLAGS=--seed %d", w.seed)),
				makes("chaos", fmt.Sprintf("CHAOSFLAGS=--secure --mixed --seed %d", w.seed)),
				makes("chaos-mutants"),
			}, nil
		},
	},
	{
		name: "root", lane: waits, slice: 3,
		paths: []string{"internal/build/image/", "internal/slots/", "internal/test/siegetest/", "server/conn/", "jepsen/disk/", "jepsen/network/", "jepsen/sandbox/", "jepsen/skew/"},
		full:  each(tests("make", "root", "TESTFLAGS=-json")),
	},
	{
		name: "siege", lane: waits, slice: 6,
		gate: each(program("go", "run", "./jepsen", "siege", "--secure", "--duration", "40s", "--least", "50")),
		full: each(makes("chaos-siege", "CHAOSFLAGS=--secure")),
	},
	{
		name: "scenarios", lane: waits, always: true,
		gate: scenariosOfSlice,
		full: each(makes("chaos-scenarios")),
	},
	{
		name: "browser", lane: waits, always: true,
		gate: func(w *work) ([]command, error) {
			if w.changes("server/console/", "server/web/", "internal/overview/", "internal/test/processtest/browser_") {
				return []command{tests("make", "browser", "TESTFLAGS=-json")}, nil
			}
			return []command{tests("make", "browser", fmt.Sprintf("TESTFLAGS=-json -slice=%d", w.slice))}, nil
		},
		full: each(tests("make", "browser", "TESTFLAGS=-json")),
	},
	{
		name: "monitoring", lane: waits, slice: 1,
		paths: []string{
			"deploy/prometheus/", "deploy/grafana/", "server/frontend/metrics.go", "server/kernel/requests.go", "server/meter.go", "server/metrics.go", "server/peermetrics.go", "cluster/meter.go",
			"internal/test/processtest/alerts_", "internal/test/processtest/dashboards_", "internal/test/processtest/prometheus_",
		},
		full: each(tests("make", "monitoring", "TESTFLAGS=-json")),
	},
	{
		name: "redis-clients", lane: waits, slice: 7,
		paths: []string{"server/redis/", "internal/test/processtest/testdata/redisclients/", "internal/test/processtest/redisclients_", "docs/javascript.md", "docs/python.md"},
		full:  each(tests("make", "redis-clients", "TESTFLAGS=-json")),
	},
	{
		name: "examples", lane: packs, slice: 3, paths: []string{"examples/", "clients/", "internal/test/processtest/examples_test.go"},
		full: each(tests("make", "examples", "TESTFLAGS=-json")),
	},
	{
		name: "databases", lane: waits, slice: 5,
		paths: []string{"cmd/snowraft/internal/migrate/", "docs/migrate.md", "internal/test/processtest/databases_", "internal/test/processtest/import_", "internal/test/processtest/export_", "docs/document-numbers.md", "internal/test/processtest/document_numbers_", "internal/test/processtest/psql_"},
		full:  each(tests("make", "databases", "TESTFLAGS=-json")),
	},
	{
		name: "s3", lane: waits, slice: 2, paths: []string{"internal/backup/", "internal/test/s3test/", "server/backups/"},
		full: each(tests("make", "s3", "TESTFLAGS=-json")),
	},
	{
		name: "foreign", lane: waits, slice: 1,
		paths: []string{"internal/test/foreign/", "server/web/cosid", "internal/test/processtest/cosid_", "internal/test/processtest/testdata/cosid/", "internal/contain/", "cmd/snowraft/internal/worker/", "docs/workers", "snowflake/preset"},
		gate:  each(tests("make", "foreign", "TESTFLAGS=-json")),
		full:  each(whole(tests("make", "foreign", "TESTFLAGS=-json"))),
	},
	{
		name: "clients", lane: packs, slice: clientsSlice,
		paths: []string{"clients/", "conformance/", "proto/", "server/web/", "server/frontend/"},
		gate:  clientsOfSlice,
		full:  each(makes("conformance", wholeConformance)),
	},
	{
		name: "bench-clients", lane: packs, slice: 6, paths: []string{"bench/", "clients/"}, // packs the clients
		full: each(makes("bench-clients-check")),
	},
	{
		name: "proof", lane: packs, slice: 4, paths: []string{"bench/proof/"},
		full: each(tests("make", "proof-check", "TESTFLAGS=-json")),
	},
	{
		name: "frameworks", lane: packs, slice: 8, paths: []string{"clients/"},
		full: each(makes("frameworks")),
	},
	{
		name: "packages", lane: waits, slice: 2, paths: []string{"deploy/linux/"},
		full: each(tests("make", "packages-test", "TESTFLAGS=-json")),
	},
}

func program(args ...string) command { return command{args: args} }

func makes(args ...string) command {
	return program(append([]string{"make", "--no-print-directory"}, args...)...)
}

// tests is a command that prints a result for each test.
func tests(args ...string) command { return command{args: args, counts: true} }

// warning is a command whose failure closes the gate at night only.
func warning(c command) command {
	c.warns = true
	return c
}

// each returns the same commands for every state of the tree.
func each(commands ...command) func(*work) ([]command, error) {
	return func(*work) ([]command, error) { return commands, nil }
}

// orZero returns a commit that no history knows instead of none.
func orZero(base string) string {
	if base == "" {
		return strings.Repeat("0", 40)
	}
	return base
}
