//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/sony/sonyflake"
)

// module returns a function that returns the version of a Go module of this program.
func module(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		info, _ := debug.ReadBuildInfo()
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version, nil
			}
		}
		return "", fmt.Errorf("this program has no module %s", path)
	}
}

// goLibraries make IDs inside the application, without servers.
func goLibraries() []system {
	library := func(name, title, settings, path string, args func(app int) []string) system {
		return system{name: name, title: title, settings: settings, alone: true, version: module(path), start: func(context.Context, *play) (func(int) *spec, error) {
			return func(app int) *spec { return driver(append([]string{name}, args(app)...)...) }, nil
		}}
	}
	none := func(int) []string { return nil }
	return []system{
		library("sonyflake", "sony/sonyflake", "defaults (machine number from the private address)", "github.com/sony/sonyflake", none),
		library("bwmarrin", "bwmarrin/snowflake", "a node number of its own for each application, set by hand", "github.com/bwmarrin/snowflake",
			func(app int) []string { return []string{strconv.Itoa(app + 1)} }),
		library("uuid7", "UUIDv7 of google/uuid", "defaults (128 bits, random)", "github.com/google/uuid", none),
	}
}

// driveSonyflake has the machine number of its argument; that of the private address without one.
func driveSonyflake(args []string) (source, error) {
	var settings sonyflake.Settings
	if len(args) > 0 {
		number, err := strconv.ParseUint(args[0], 10, 16)
		if err != nil {
			return nil, err
		}
		settings.MachineID = func() (uint16, error) { return uint16(number), nil }
	}
	flake, err := sonyflake.New(settings)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (string, error) {
		id, err := flake.NextID()
		return strconv.FormatUint(id, 10), err
	}, nil
}

func driveBwmarrin(args []string) (source, error) {
	number, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return nil, err
	}
	node, err := snowflake.NewNode(number)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (string, error) { return node.Generate().String(), nil }, nil
}

func driveUUID([]string) (source, error) {
	return func(context.Context) (string, error) {
		id, err := uuid.NewV7()
		return id.String(), err
	}, nil
}

// javaLibraries are the libraries of bench/proof/java.
func javaLibraries(o options) []system {
	lib := jars(o)
	library := func(name, title, settings, jar string) system {
		return system{name: name, title: title, settings: settings, alone: true, twins: true,
			version: func(context.Context) (string, error) { return jarVersion(lib, jar) },
			start: func(context.Context, *play) (func(int) *spec, error) {
				return func(int) *spec { return java(o, name) }, nil
			}}
	}
	cosid := system{name: "cosid", title: "CosId, machine numbers from Redis with Sentinel", settings: "defaults (guarded for 5 minutes)",
		version: func(context.Context) (string, error) { return jarVersion(lib, "cosid-core") },
		start: func(ctx context.Context, p *play) (func(int) *spec, error) {
			sentinels, err := startRedis(ctx, p, "")
			return func(int) *spec { return java(o, "cosid", sentinels, "10", "12") }, err
		}}
	return []system{
		cosid,
		library("mybatis-plus", "MyBatis-Plus `Sequence`", "defaults (machine number from MAC and PID)", "mybatis-plus-core"),
		library("hutool", "Hutool `Snowflake`", "defaults (machine number from MAC and PID)", "hutool-core"),
		library("tsid", "tsid-creator", "defaults (a random one of 1,024 nodes)", "tsid-creator"),
	}
}

// jars returns the folder of the libraries in Java.
func jars(o options) string { return filepath.Join(o.root, "bench", "proof", "java", "target", "lib") }

// java returns an application in Java. A heap of 64 MB is enough for it.
func java(o options, args ...string) *spec {
	classes := filepath.Join(o.root, "bench", "proof", "java", "target", "classes")
	return &spec{path: "/usr/bin/java", args: append([]string{"-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", classes + ":" + jars(o) + "/*", "Drive"}, args...)}
}

// jarVersion returns the version in the name of a jar.
func jarVersion(folder, name string) (string, error) {
	found, _ := filepath.Glob(filepath.Join(folder, name+"-*.jar"))
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d jars of %s; run \"make proof-clients\"", folder, len(found), name)
	}
	base := filepath.Base(found[0])
	return base[len(name)+1 : len(base)-len(".jar")], nil
}
