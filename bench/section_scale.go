package main

import (
	"fmt"
	"regexp"
)

// scalePage is the page with the tables of the sections about growth.
const scalePage = "scale.md"

// scales returns the sections about growth whose source is a Go test.
func scales() []section {
	return []section{
		{name: "scale", title: "Holders, simulated", page: scalePage, long: true, measure: herds().measure},
		{name: "scale-cost", title: "Cost of a command in a large state", page: scalePage, measure: costs().measure},
	}
}

// herds reads the log of a simulation of holders that start together.
func herds() suite {
	s := suite{columns: []string{
		"embedded generators", "commands per second with windows of full length", "commands per second in the busiest of 20 minutes",
		"commands per second in the busiest minute after all start at once", "commands per second in the minute after 8 minutes without a leader",
	}}
	for _, holders := range []int{100, 1000, 10_000, 100_000} {
		name := whole(float64(holders))
		figure := `([0-9.]+) `
		expression := func(before, after string) *regexp.Regexp {
			return regexp.MustCompile(fmt.Sprintf(`\b%d holders: %s%s%s`, holders, before, figure, after))
		}
		s.runs = append(s.runs, goTest{
			pkg: "allocator", run: "TestHoldersThatBeginTogether", flags: []string{fmt.Sprint("-herd.holders=", holders), "-timeout=30m"},
			logs: map[string]*regexp.Regexp{
				name + " average": expression("", "commands per second"),
				name + " start":   expression(".*, ", "in the busiest minute after the start"),
				name + " busiest": expression(".*start, ", "later,"),
				name + " outage":  expression(".*, ", "after an outage"),
			},
		})
		s.rows = append(s.rows, suiteRow{[]string{name}, []cell{
			{name + " average", rate}, {name + " busiest", rate}, {name + " start", rate}, {name + " outage", rate},
		}})
	}
	return s
}

// rate formats a number of commands per second, which may be less than 1.
func rate(x float64) string { return digits(x, 2) }

// costs reads the times of commands in a small state and in a large state.
func costs() suite {
	s := suite{
		runs: []goTest{{
			pkg: "fsm", run: "TestCommandsCostTheSame", flags: []string{"-cost.large=500000"}, logs: map[string]*regexp.Regexp{},
		}},
		columns: []string{"time to decode and apply a command", "1,000 workers and 1,000 sequences", "500,000 workers and 500,000 sequences", "ratio"},
	}
	for _, kind := range []string{"extending a window", "acquiring a worker", "granting a block", "creating a sequence", "observing the clock"} {
		expression := func(text string) *regexp.Regexp { return regexp.MustCompile(kind + ": " + text) }
		s.runs[0].logs[kind+" small"] = expression(`([0-9]+) ns`)
		s.runs[0].logs[kind+" large"] = expression(`.*, ([0-9]+) ns`)
		s.runs[0].logs[kind+" times"] = expression(`.* ([0-9.]+) times`)
		s.rows = append(s.rows, suiteRow{[]string{kind}, []cell{
			{kind + " small", nanoseconds}, {kind + " large", nanoseconds}, {kind + " times", ratio},
		}})
	}
	return s
}
