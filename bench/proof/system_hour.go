//go:build linux

package main

import "slices"

// hourNames are the systems whose numbers depend on clocks.
var hourNames = []string{
	"sonyflake", "bwmarrin", "uuid7", "cosid", "mybatis-plus", "hutool", "tsid",
	"snowraft", "snowraft-go", "snowraft-java", "snowraft-typescript", "snowraft-python", "snowraft-worker",
}

// hourSystems are those of usual whose numbers depend on clocks. Their containers are on one host, so that duplicates are those of
// clocks.
func hourSystems(usual []system) []system {
	var all []system
	for _, s := range usual {
		if slices.Contains(hourNames, s.name) {
			s.name += "-hour"
			s.twins = false
			all = append(all, s)
		}
	}
	return all
}
