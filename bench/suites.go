package main

import "regexp"

// suites returns the sections whose source is Go benchmarks and tests.
func suites() []section {
	of := func(name, title string, s suite) section {
		return section{name: name, title: title, measure: s.measure}
	}
	long := func(s section) section {
		s.long = true
		return s
	}
	return []section{
		of("lanes", "One lane", lanes()),
		of("clock", "Cost of reading the clock", suite{
			runs:    []goTest{{pkg: "internal/clock", bench: "."}, {pkg: "allocator", bench: "Overhead|TimeNow"}},
			columns: []string{"operation", "time", "time relative to reading the clock"},
			rows: []suiteRow{
				{[]string{"reading the clock (`time.Now().UnixMilli()`)"}, []cell{{"TimeNow ns/op", nanoseconds}, {"TimeNow ns/op", func(float64) string { return "1" }}}},
				{[]string{"reading and checking the clock"}, []cell{{"Check ns/op", nanoseconds}, {"Check ns/op", func(float64) string { return "" }}}},
				{[]string{"issuing an ID in a lane, layout with 22 sequence bits"}, []cell{{"Overhead ns/op", nanoseconds}, {"Overhead x-time.Now", ratio}}},
			},
		}),
		of("text", "IDs as text", suite{
			runs:    []goTest{{pkg: "snowflake", bench: "."}},
			columns: []string{"operation", "time"},
			rows: []suiteRow{
				{[]string{"composing an ID from tick, worker and sequence number"}, []cell{{"Compose ns/op", nanoseconds}}},
				{[]string{"converting a time to a tick of 1 ms"}, []cell{{"TickAt/default ns/op", nanoseconds}}},
				{[]string{"decoding an ID into its fields, with all checks"}, []cell{{"Unpack ns/op", nanoseconds}}},
				{[]string{"writing an ID in decimal"}, []cell{{"Append/dec ns/op", nanoseconds}}},
				{[]string{"writing an ID in base58"}, []cell{{"Append/base58 ns/op", nanoseconds}}},
				{[]string{"parsing an ID in decimal"}, []cell{{"Decode/dec ns/op", nanoseconds}}},
				{[]string{"parsing an ID in base58"}, []cell{{"Decode/base58 ns/op", nanoseconds}}},
			},
		}),
		of("sequences", "Sequences from memory", suite{
			runs:    []goTest{{pkg: "allocator", bench: "BenchmarkSequence"}},
			columns: []string{"relaxed sequence", "goroutines", "numbers per call", "time per call"},
			rows: []suiteRow{
				{[]string{"without a reset", "1", "1"}, []cell{{"Sequence/goroutines=1/count=1 ns/op", nanoseconds}}},
				{[]string{"without a reset", "8", "1"}, []cell{{"Sequence/goroutines=8/count=1 ns/op", nanoseconds}}},
				{[]string{"without a reset", "1", "100"}, []cell{{"Sequence/goroutines=1/count=100 ns/op", nanoseconds}}},
				{[]string{"without a reset", "8", "100"}, []cell{{"Sequence/goroutines=8/count=100 ns/op", nanoseconds}}},
				{[]string{"with a reset, which requires a reading of the clock", "1", "1"}, []cell{{"SequenceWithReset ns/op", nanoseconds}}},
			},
		}),
		of("waiting", "Waiting for blocks", waiting()),
		of("protocols", "gRPC and HTTP without a network", suite{
			runs:    []goTest{{pkg: "server", bench: "Unary|HTTP"}, {pkg: "server/web", bench: "Text"}},
			columns: []string{"request", "compared with", "rate relative to that"},
			rows: []suiteRow{
				{[]string{"`NextNumbers` of a relaxed sequence", "an empty gRPC method"}, []cell{{"Unary/Next of-bare-rate", ratio}}},
				{[]string{"`GenerateIds`", "an empty gRPC method"}, []cell{{"Unary/GenerateIds of-bare-rate", ratio}}},
				{[]string{"`POST /seq/NAME` of a relaxed sequence", "a net/http handler that returns a constant"}, []cell{{"HTTP/seq/bench of-bare-rate", ratio}}},
				{[]string{"`GET /id`", "a net/http handler that returns a constant"}, []cell{{"HTTP/id of-bare-rate", ratio}}},
				{[]string{"`POST /v1/sequences:next` of a relaxed sequence", "a net/http handler that returns a constant"}, []cell{{"HTTP/v1/sequences:next of-bare-rate", ratio}}},
				{[]string{"`POST /v1/ids:generate`", "a net/http handler that returns a constant"}, []cell{{"HTTP/v1/ids:generate of-bare-rate", ratio}}},
				{[]string{"`POST /seq/NAME`, without the cost of the member", "a net/http handler that returns a constant"}, []cell{{"Text/seq of-bare-rate", ratio}}},
				{[]string{"`GET /id`, without the cost of the member", "a net/http handler that returns a constant"}, []cell{{"Text/id of-bare-rate", ratio}}},
			},
		}),
		of("commands", "Commands", suite{
			runs: []goTest{
				{pkg: "internal/test/simtest", run: "TestAThousandHolders", logs: map[string]*regexp.Regexp{
					"average": regexp.MustCompile(`holders: ([0-9.]+) commands per second`),
					"busiest": regexp.MustCompile(`, ([0-9.]+) in the busiest minute`),
				}},
				{pkg: "internal/member", bench: "Commands", benchtime: "100000x"},
			},
			columns: []string{"measurement", "result"},
			rows: []suiteRow{
				{[]string{"average rate of commands of 1,000 simulated holders with windows of full length"}, []cell{{"average", with(" commands/s", ratio)}}},
				{[]string{"rate of these commands in the busiest of 20 minutes"}, []cell{{"busiest", with(" commands/s", ratio)}}},
				{[]string{"highest rate at which one member with real files commits 100,000 commands"}, []cell{{"Commands commands/s", with(" commands/s", amount)}}},
				{[]string{"size of the log and the snapshot on disk after these 100,000 commands"}, []cell{{"Commands MiB-on-disk", with(" MiB", whole)}}},
			},
		}),
		of("state-machine", "The state machine", stateMachine()),
		of("many-state", "The state machine with many sequences", manyState()),
		long(of("many", "100,000 sequences", many())),
	}
}

func lanes() suite {
	s := suite{
		runs:    []goTest{{pkg: "allocator", bench: "Lane"}},
		columns: []string{"lanes", "callers", "IDs per call", "million IDs per second", "share of the layout's maximum"},
	}
	for _, c := range [][3]string{
		{"1", "1", "1"}, {"1", "8", "1"}, {"1", "1", "100"}, {"1", "8", "100"},
		{"4", "2", "1"}, {"4", "8", "1"}, {"4", "2", "1000"}, {"4", "8", "100"},
	} {
		name := "Lane/lanes=" + c[0] + "/goroutines=" + c[1] + "/batch=" + c[2]
		s.rows = append(s.rows, suiteRow{c[:], []cell{
			{name + " M-ids/s", func(x float64) string { return digits(x, 3) }}, {name + " %-of-layout", with(" %", whole)},
		}})
	}
	return s
}

// waiting reads the logs of tests with a simulated clock.
func waiting() suite {
	calls := func(of, delay string) *regexp.Regexp {
		return regexp.MustCompile(delay + `, ` + of + `: ([0-9]+) calls waited`)
	}
	s := suite{
		runs:    []goTest{{pkg: "allocator", run: "TestTenfoldJump|TestHundredfoldJump|TestALoadFromNothing", logs: map[string]*regexp.Regexp{}}},
		columns: []string{"load", "requests that waited, if a grant takes 5 ms", "requests that waited, if a grant takes 50 ms"},
	}
	for _, row := range []struct{ label, of string }{
		{"steady, at most 10,000 numbers per second", "steady"},
		{"sudden tenfold increase, to at most 100,000 numbers per second", "tenfold"},
		{"sudden increase from 1,000 to 100,000 numbers per second", "hundredfold"},
		{"sudden increase from 0 to 100,000 numbers per second", "from nothing"},
	} {
		s.runs[0].logs[row.of+" 5"], s.runs[0].logs[row.of+" 50"] = calls(row.of, `\b5ms`), calls(row.of, `\b50ms`)
		s.rows = append(s.rows, suiteRow{[]string{row.label}, []cell{{row.of + " 5", whole}, {row.of + " 50", whole}}})
	}
	return s
}

func stateMachine() suite {
	return suite{
		runs:    []goTest{{pkg: "fsm", bench: "^Benchmark(Acquire|Extend|SnapshotWrite|SnapshotCopy|SnapshotRead|Digest|Decode)$"}},
		columns: []string{"operation", "time", "conditions"},
		rows: []suiteRow{
			stateRow("acquiring a worker", "Acquire", "a layout with 2^22 workers, all used"),
			stateRow("extending a window", "Extend", "a layout with 2^22 workers, all used"),
			stateRow("decoding a command", "Decode", "includes the checks of the checksum and for unknown fields and values"),
			stateRow("copying the state for a snapshot", "SnapshotCopy", "a million workers; commands wait meanwhile"),
			stateRow("writing a snapshot", "SnapshotWrite", "a million workers; commands continue meanwhile"),
			stateRow("reading a snapshot", "SnapshotRead", "a million workers; includes all checks"),
			stateRow("computing the digest of the state", "Digest", "a million workers; commands continue meanwhile"),
		},
	}
}

func manyState() suite {
	memory := regexp.MustCompile(`alike: ([0-9]+) bytes a sequence after creating`)
	described := regexp.MustCompile(`different: ([0-9]+) bytes a sequence after creating`)
	idle := regexp.MustCompile(`: ([0-9]+) bytes for each`)
	return suite{
		runs: []goTest{
			{pkg: "fsm", bench: "AllocateBlock|SequenceSnapshot", benchtime: "20x"},
			{pkg: "fsm", run: "TestIdleSequenceMemory", logs: map[string]*regexp.Regexp{"memory": memory, "described": described}},
			{pkg: "allocator", run: "TestIdleSequencesAreSmall", logs: map[string]*regexp.Regexp{"idle": idle}},
		},
		columns: []string{"measurement", "result", "conditions"},
		rows: []suiteRow{
			stateRow("granting a block", "AllocateBlock/id=false", "with 100,000 sequences"),
			stateRow("granting a block that is remembered under a request ID", "AllocateBlock/id=true", "with 100,000 sequences"),
			stateRow("copying the state for a snapshot", "SequenceSnapshot/copy", "with 100,000 sequences"),
			stateRow("writing a snapshot", "SequenceSnapshot/write", "with 100,000 sequences"),
			stateRow("reading a snapshot", "SequenceSnapshot/read", "with 100,000 sequences"),
			memoryRow("memory of an idle sequence in the state", "memory", "other sequences have the same specification"),
			memoryRow("memory of an idle sequence in the state", "described", "the sequence has a description of its own"),
			memoryRow("further memory of an idle sequence on a member", "idle", "the member holds numbers of the sequence"),
		},
	}
}

// stateRow returns a row with a reading and, after it, a text about the reading.
func stateRow(label, bench, about string) suiteRow {
	return suiteRow{[]string{label}, []cell{{bench + " ns/op", nanoseconds}, {bench + " ns/op", func(float64) string { return about }}}}
}

func memoryRow(label, reading, about string) suiteRow {
	return suiteRow{[]string{label}, []cell{{reading, with(" bytes", whole)}, {reading, func(float64) string { return about }}}}
}

func many() suite {
	row := func(label, unit string, f format, bound string) suiteRow {
		name := "ManySequences " + unit
		return suiteRow{[]string{label}, []cell{{name, f}, {name, func(float64) string { return bound }}}}
	}
	seconds := times(1e9, nanoseconds)
	return suite{
		runs:    []goTest{{pkg: "server", bench: "ManySequences", benchtime: "1x", once: true}},
		columns: []string{"measurement", "result", "bound"},
		rows: []suiteRow{
			row("creating the sequences, each on all members before the call returns", "s-create", seconds, "5 min"),
			row("listing the sequences in pages of 1,000", "s-list", seconds, "10 s"),
			row("taking a snapshot", "s-snapshot", seconds, "5 s"),
			row("restarting a follower, until it issues a number of the last sequence", "s-restart", seconds, "20 s"),
			row("memory per sequence, sum of the three members", "bytes-each", with(" bytes", whole), "3 KiB"),
		},
	}
}
