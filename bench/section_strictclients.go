package main

import (
	"context"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// strictClients compares the clients of all languages, each in a process of its own, in requesting strict numbers.
func strictClients() section {
	const (
		sequence = "invoices"
		callers  = 64
		goClient = "Go: `Sequence.Next`, goroutines"
		futures  = "Java: `Sequence.nextAsync()`, futures"
		java     = "Java: `Sequence.next()`, threads"
		node     = "TypeScript: `sequence.next()`, promises in Node.js"
		tasks    = "Python: `snowraft.aio`, `sequence.next()`, tasks of asyncio"
		threads  = "Python: `sequence.next()`, threads"
	)
	const (
		python = "bin/bench-python/bin/python"
		warmUp = 2 // turns until the compiler of a virtual machine has compiled the client
	)
	of := func(name, language string, least float64) target {
		return target{text: "for " + language + ", at least " + ratio(least) + " times the rate of the Go client", of: name, figure: calls, ratio: true, atLeast: least, format: ratio}
	}
	return section{name: "strict-clients", title: "Strict numbers through the clients of other languages", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		if err := members[0].sequence(ctx, sequence, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT); err != nil {
			return nil, err
		}
		present, err := e.startDriver(ctx, "present", &started)
		if err != nil {
			return nil, err
		}
		c := comparison{
			heading: "64 callers in one process, each with one number at a time",
			contenders: []contender{
				{name: goClient, turn: present.turn(drive{addresses: apis(members), sequence: sequence, clients: 1, callers: callers})},
				{name: futures, against: goClient}, {name: java, against: goClient}, {name: node, against: goClient}, {name: tasks, against: goClient}, {name: threads, against: goClient},
			},
			columns: []column{{"numbers per second", calls, false, amount}, {"rate relative to the Go client", calls, true, ratio}},
			targets: []target{of(futures, "Java with futures", 0.5), of(java, "Java with threads", 0.5), of(node, "Node.js", 0.35), of(tasks, "asyncio", 0.15)},
		}
		for i, driver := range []struct {
			command []string
			kind    string
		}{
			{[]string{"java", "-jar", "clients/java/driver/target/driver.jar"}, "futures"},
			{[]string{"java", "-jar", "clients/java/driver/target/driver.jar"}, "numbers"},
			{[]string{"node", "clients/typescript/driver/main.mjs"}, "numbers"},
			{[]string{python, "clients/python/driver/driver.py", "--aio"}, "numbers"},
			{[]string{python, "clients/python/driver/driver.py"}, "numbers"},
		} {
			d, err := e.startForeign(ctx, members, driver.command, &started)
			if err != nil {
				return nil, err
			}
			c.contenders[i+1].turn = d.turn(driver.kind, sequence, callers)
			if _, err := c.contenders[i+1].turn(ctx, warmUp*e.duration); err != nil {
				return nil, err
			}
		}
		return c.measure(ctx, e)
	}}
}
