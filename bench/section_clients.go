package main

import "context"

// embeddedClients returns the sections about the generators of the clients in other languages, each next to libraries of its language.
func embeddedClients() []section { return []section{javaIDs(), typescriptIDs(), pythonIDs()} }

// columnsOf returns the columns of embeddedClients; against is the meaning of the ratio.
func columnsOf(against string) []column {
	return []column{{"time per ID", each, false, nanoseconds}, {"IDs per second", numbers, false, amount}, {against, each, true, ratio}}
}

func javaIDs() section {
	const (
		clock      = "`clock`: `System.currentTimeMillis()`"
		wide       = "`wide`: `Generator.next()`, layout with 22 sequence bits"
		usual      = "`usual`: `Generator.next()`, layout `default` (at most 4,096 IDs per millisecond)"
		cosidWide  = "`cosidWide`: CosId 2.13.3, the same bits as in `wide`"
		cosidUsual = "`cosidUsual`: CosId 2.13.3, its default layout (at most 4,096 IDs per millisecond)"
	)
	return section{name: "java", title: "The embedded generator of the Java client", measure: func(ctx context.Context, e *env) (*table, error) {
		return jmh.measure(ctx, e, comparison{
			heading: "benchmark in JMH, one thread",
			contenders: []contender{
				{name: clock}, {name: wide, against: clock}, {name: cosidWide, against: clock},
				{name: usual}, {name: cosidUsual}, {name: "`uuid4`: `UUID.randomUUID()`", against: clock},
			},
			columns: append(columnsOf("time relative to `clock`"), column{"memory allocated per ID", bytesEach, false, with(" bytes", ratio)}),
			targets: []target{
				{text: "with 22 sequence bits, at most twice the time of `System.currentTimeMillis()`", of: wide, figure: each, ratio: true, atMost: 2, format: ratio},
				{text: "with 22 sequence bits, at least the rate of CosId with these bits", of: wide, figure: numbers, fastest: []string{cosidWide}, atLeast: 1, format: ratio},
				{text: "at least 99 % of the 4.096 million IDs per second that the layout `default` allows", of: usual, figure: numbers, atLeast: 0.99 * 4.096e6, format: amount},
				{text: "no memory per ID (at most 0.5 bytes, with all work in the background)", of: wide, figure: bytesEach, atMost: 0.5, format: with(" bytes", ratio)},
			},
		})
	}}
}

func typescriptIDs() section {
	const (
		clock    = "`clock`: `Date.now()` and a bigint from a typed array"
		wide     = "`wide`: `generator.next()`, layout with 22 sequence bits"
		sapphire = "`sapphire`: @sapphire/snowflake 3.5.5 (repeats IDs after 4,096 per millisecond)"
		snowy    = "`snowyflake`: snowyflake 2.0.1 (repeats IDs after 4,096 per millisecond)"
		nodejs   = "`nodejs`: nodejs-snowflake 2.0.1, in WebAssembly (at most 1,024 IDs per millisecond)"
		ify      = "`snowflakify`: snowflakify 1.0.7"
	)
	return section{name: "typescript", title: "The embedded generator of the TypeScript client", measure: func(ctx context.Context, e *env) (*table, error) {
		return tinybench.measure(ctx, e, comparison{
			heading: "benchmark in tinybench",
			contenders: []contender{
				{name: clock}, {name: wide, against: clock}, {name: "`usual`: `generator.next()`, layout `default` (at most 4,096 IDs per millisecond)"},
				{name: sapphire, against: clock}, {name: snowy, against: clock}, {name: nodejs}, {name: ify, against: clock}, {name: "`uuid4`: `crypto.randomUUID()`", against: clock},
			},
			columns: columnsOf("time relative to `clock`"),
			targets: []target{
				{text: "with 22 sequence bits, at most 1.3 times the time of `clock`", of: wide, figure: each, ratio: true, atMost: 1.3, format: ratio},
				{text: "at least the rate of the fastest package", of: wide, figure: numbers, fastest: []string{sapphire, snowy, nodejs, ify}, atLeast: 1, format: ratio},
			},
		})
	}}
}

func pythonIDs() section {
	const (
		uuid4   = "`uuid4`: `uuid.uuid4()`"
		usual   = "`usual`: `generator.next()`, layout `default`"
		toolkit = "`toolkit`: snowflake-id-toolkit 0.6.0"
		flakeid = "`flakeid`: flakeid 0.1.1"
		another = "`idgenerator`: snowflake-id-generator 2.0.0"
	)
	return section{name: "python", title: "The embedded generator of the Python client", measure: func(ctx context.Context, e *env) (*table, error) {
		return pyperf.measure(ctx, e, comparison{
			heading: "benchmark in pyperf",
			contenders: []contender{
				{name: uuid4}, {name: "`clock`: `time.time_ns()`", against: uuid4}, {name: usual, against: uuid4},
				{name: toolkit, against: uuid4}, {name: flakeid, against: uuid4}, {name: another, against: uuid4},
				{name: "`unlocked`: snowflake-id 1.0.2, which two threads must not use at the same time", against: uuid4},
			},
			columns: columnsOf("time relative to `uuid4`"),
			targets: []target{
				{text: "at least 1.2 times the rate of `uuid.uuid4()`", of: usual, figure: numbers, fastest: []string{uuid4}, atLeast: 1.2, format: ratio},
				{text: "at least 1.2 times the rate of the fastest package that takes a lock", of: usual, figure: numbers, fastest: []string{toolkit, flakeid, another}, atLeast: 1.2, format: ratio},
			},
		})
	}}
}
