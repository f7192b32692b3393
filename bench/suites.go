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
		of("clock", "What reading the clock takes", suite{
			runs:    []goTest{{pkg: "internal/clock", bench: "."}, {pkg: "allocator", bench: "Overhead|TimeNow"}},
			columns: []string{"", "time", "of reading the clock"},
			rows: []suiteRow{
				{[]string{"reading the clock, `time.Now().UnixMilli()`"}, []cell{{"TimeNow ns/op", nanoseconds}, {"TimeNow ns/op", func(float64) string { return "1" }}}},
				{[]string{"reading and judging it"}, []cell{{"Check ns/op", nanoseconds}, {"Check ns/op", func(float64) string { return "" }}}},
				{[]string{"an ID of a lane, layout with 22 sequence bits"}, []cell{{"Overhead ns/op", nanoseconds}, {"Overhead x-time.Now", ratio}}},
			},
		}),
		of("text", "IDs as text", suite{
			runs:    []goTest{{pkg: "snowflake", bench: "."}},
			columns: []string{"", "time"},
			rows: []suiteRow{
				{[]string{"composing an ID of tick, worker, sequence"}, []cell{{"Compose ns/op", nanoseconds}}},
				{[]string{"tick of an instant, ticks of 1 ms"}, []cell{{"TickAt/default ns/op", nanoseconds}}},
				{[]string{"taking an ID apart, with all checks"}, []cell{{"Unpack ns/op", nanoseconds}}},
				{[]string{"writing it as decimal"}, []cell{{"Append/dec ns/op", nanoseconds}}},
				{[]string{"writing it as base58"}, []cell{{"Append/base58 ns/op", nanoseconds}}},
				{[]string{"reading decimal"}, []cell{{"Decode/dec ns/op", nanoseconds}}},
				{[]string{"reading base58"}, []cell{{"Decode/base58 ns/op", nanoseconds}}},
			},
		}),
		of("sequences", "Sequences from memory", suite{
			runs:    []goTest{{pkg: "allocator", bench: "BenchmarkSequence"}},
			columns: []string{"relaxed sequence", "goroutines", "numbers a call", "time of a call"},
			rows: []suiteRow{
				{[]string{"without a reset", "1", "1"}, []cell{{"Sequence/goroutines=1/count=1 ns/op", nanoseconds}}},
				{[]string{"without a reset", "8", "1"}, []cell{{"Sequence/goroutines=8/count=1 ns/op", nanoseconds}}},
				{[]string{"without a reset", "1", "100"}, []cell{{"Sequence/goroutines=1/count=100 ns/op", nanoseconds}}},
				{[]string{"without a reset", "8", "100"}, []cell{{"Sequence/goroutines=8/count=100 ns/op", nanoseconds}}},
				{[]string{"with a reset, which looks at the clock", "1", "1"}, []cell{{"SequenceWithReset ns/op", nanoseconds}}},
			},
		}),
		of("waiting", "Waiting for blocks", waiting()),
		of("protocols", "gRPC and HTTP without the way there and back", suite{
			runs:    []goTest{{pkg: "server", bench: "Unary|PlainHTTP"}, {pkg: "server/web", bench: "Text"}},
			columns: []string{"", "next to", "of the bare rate"},
			rows: []suiteRow{
				{[]string{"`NextNumbers` of a relaxed sequence", "an empty gRPC method"}, []cell{{"Unary/Next of-bare-rate", ratio}}},
				{[]string{"`GenerateIds`", "an empty gRPC method"}, []cell{{"Unary/GenerateIds of-bare-rate", ratio}}},
				{[]string{"`POST /seq/NAME` of a relaxed sequence", "a net/http handler that prints a constant"}, []cell{{"PlainHTTP/seq/bench of-bare-rate", ratio}}},
				{[]string{"`GET /id`", "a net/http handler that prints a constant"}, []cell{{"PlainHTTP/id of-bare-rate", ratio}}},
				{[]string{"`POST /seq/NAME`, of a member that costs nothing", "the same handler"}, []cell{{"Text/seq of-bare-rate", ratio}}},
				{[]string{"`GET /id`, of a member that costs nothing", "the same handler"}, []cell{{"Text/id of-bare-rate", ratio}}},
			},
		}),
		of("commands", "Commands", suite{
			runs: []goTest{
				{pkg: "internal/simtest", run: "TestAThousandHolders", logs: map[string]*regexp.Regexp{
					"average": regexp.MustCompile(`holders: ([0-9.]+) commands per second`),
					"busiest": regexp.MustCompile(`, ([0-9.]+) in the busiest minute`),
				}},
				{pkg: "internal/member", bench: "Commands", benchtime: "100000x"},
			},
			columns: []string{"", ""},
			rows: []suiteRow{
				{[]string{"1,000 simulated holders at full window length, on average"}, []cell{{"average", with(" commands/s", ratio)}}},
				{[]string{"the same in the busiest of 20 minutes"}, []cell{{"busiest", with(" commands/s", ratio)}}},
				{[]string{"committing 100,000 as fast as one member with real files takes them"}, []cell{{"Commands commands/s", with(" commands/s", amount)}}},
				{[]string{"on disk after that, log and snapshot"}, []cell{{"Commands MiB-on-disk", with(" MiB", whole)}}},
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
		columns: []string{"lanes", "callers", "IDs per call", "million IDs per second", "of what the layout allows"},
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
		columns: []string{"load", "waited, grants take 5 ms", "waited, grants take 50 ms"},
	}
	for _, row := range []struct{ label, of string }{
		{"steady, up to 10,000 per second", "steady"},
		{"ten times as much from one moment to the next, up to 100,000 per second", "tenfold"},
		{"a hundred times as much, 1,000 to 100,000 per second", "hundredfold"},
		{"from nothing to 100,000 per second", "from nothing"},
	} {
		s.runs[0].logs[row.of+" 5"], s.runs[0].logs[row.of+" 50"] = calls(row.of, `\b5ms`), calls(row.of, `\b50ms`)
		s.rows = append(s.rows, suiteRow{[]string{row.label}, []cell{{row.of + " 5", whole}, {row.of + " 50", whole}}})
	}
	return s
}

func stateMachine() suite {
	return suite{
		runs:    []goTest{{pkg: "fsm", bench: "^Benchmark(Acquire|Extend|SnapshotWrite|SnapshotCopy|SnapshotRead|Digest|Decode)$"}},
		columns: []string{"", "time", ""},
		rows: []suiteRow{
			stateRow("AcquireWorker", "Acquire", "in a layout with 2^22 workers, all used"),
			stateRow("ExtendWindow", "Extend", "the same"),
			stateRow("decoding a command", "Decode", "with checksum and the check for what is unknown"),
			stateRow("copying the state for a snapshot", "SnapshotCopy", "a million workers; commands wait for this"),
			stateRow("writing the snapshot", "SnapshotWrite", "a million workers; commands go on meanwhile"),
			stateRow("reading it", "SnapshotRead", "a million workers, with every check"),
			stateRow("digest", "Digest", "a million workers; commands go on meanwhile"),
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
		columns: []string{"", "", ""},
		rows: []suiteRow{
			stateRow("granting a block", "AllocateBlock/id=false", "with 100,000 sequences"),
			stateRow("granting one that is remembered by a request ID", "AllocateBlock/id=true", "the same"),
			stateRow("copying the state for a snapshot", "SequenceSnapshot/copy", "the same"),
			stateRow("writing the snapshot", "SequenceSnapshot/write", "the same"),
			stateRow("reading it", "SequenceSnapshot/read", "the same"),
			memoryRow("an idle sequence in a replica", "memory", "with the specification of its neighbours"),
			memoryRow("the same", "described", "with a description of its own"),
			memoryRow("an idle sequence on a member beside that", "idle", "if the member has numbers of it in memory"),
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
		columns: []string{"", "measured", "bound"},
		rows: []suiteRow{
			row("creating them, each on all members before the call returns", "s-create", seconds, "5 min"),
			row("listing them in pages of 1,000", "s-list", seconds, "10 s"),
			row("a snapshot", "s-snapshot", seconds, "5 s"),
			row("a restart, until the last one is numbered", "s-restart", seconds, "20 s"),
			row("memory for each, on all three members", "bytes-each", with(" bytes", whole), "3 KiB"),
		},
	}
}
