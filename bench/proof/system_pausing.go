//go:build linux

package main

import "context"

// pausingSystems lease machine numbers to applications, and meet the faults of [pausing]. Their applications call in bursts at
// random moments. With regular calls, only the phase of two timers would decide whether two applications with one machine
// number issue the same IDs.
func pausingSystems(o options) []system {
	cosid := func(name, settings, machineBits, sequenceBits string) system {
		return system{name: name, title: "CosId, machine numbers from Redis with Sentinel", settings: settings,
			version: func(context.Context) (string, error) { return jarVersion(jars(o), "cosid-core") },
			start: func(ctx context.Context, p *play) (func(int) *spec, error) {
				sentinels, err := startRedis(ctx, p, "")
				return func(int) *spec { return java(o, "bursts", "cosid", sentinels, machineBits, sequenceBits) }, err
			}}
	}
	return []system{
		cosid("cosid-pause", "defaults: 1,024 machine numbers, guarded for 5 minutes", "10", "12"),
		cosid("cosid-pause-js", "IDs for JavaScript: `machine-bit: 3`, `sequence-bit: 9`", "3", "9"),
		{name: "snowraft-java-pause", title: "Snowraft, generator in Java", settings: "defaults", version: output(o.snowraft, "--version"),
			start: func(ctx context.Context, p *play) (func(int) *spec, error) {
				err := startSnowraft(ctx, p, o.snowraft)
				return func(int) *spec { return java(o, "bursts", "snowraft", p.addresses(httpPort)) }, err
			}},
	}
}
