package main

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// commit is the release of these tests.
var commit = release{version: "v1.2.3", revision: "4d2f", created: time.Unix(1_700_000_000, 0).UTC(), arch: "arm64"}

// copied is a file or a directory that a Dockerfile copies from its stage "build".
type copied struct {
	from  string
	owner int
}

// dockerfile is the last stage of a Dockerfile.
type dockerfile struct {
	t        *testing.T
	settings settings
	copies   map[string]copied // copied files by path in the image
	args     map[string]string
}

var (
	variable = regexp.MustCompile(`\$\{(\w+)\}`)
	pair     = regexp.MustCompile(`([\w.]+)=("[^"]*"|\S*)`)
)

// lastStage reads the last stage of a Dockerfile, as built with the arguments. An unknown instruction fails the test.
func lastStage(t *testing.T, text string, args map[string]string) *dockerfile {
	t.Helper()
	text = regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	begin := strings.LastIndex(text, "\nFROM ")
	d := &dockerfile{t: t, copies: make(map[string]copied), args: args}
	d.settings.ExposedPorts, d.settings.Volumes, d.settings.Labels = make(map[string]struct{}), make(map[string]struct{}), make(map[string]string)
	for line := range strings.Lines(text[begin+1:]) {
		if instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " "); instruction != "" {
			d.read(instruction, strings.TrimSpace(rest))
		}
	}
	return d
}

func (d *dockerfile) read(instruction, rest string) {
	d.t.Helper()
	switch instruction {
	case "FROM":
		if rest != "scratch" {
			d.t.Errorf("the image is made from %s, want scratch", rest)
		}
	case "ARG":
		for _, m := range pair.FindAllStringSubmatch(rest, -1) {
			if _, given := d.args[m[1]]; !given {
				d.t.Errorf("unknown argument %s", m[1])
			}
		}
	case "COPY":
		d.copy(strings.Fields(rest))
	case "USER":
		d.settings.User = rest
	case "ENV":
		for _, m := range pair.FindAllStringSubmatch(rest, -1) {
			d.settings.Env = append(d.settings.Env, m[1]+"="+m[2])
		}
	case "VOLUME":
		d.settings.Volumes[rest] = struct{}{}
	case "EXPOSE":
		for port := range strings.FieldsSeq(rest) {
			d.settings.ExposedPorts[port] = struct{}{}
		}
	case "ENTRYPOINT":
		d.settings.Entrypoint = d.list(rest)
	case "CMD":
		d.settings.Cmd = d.list(rest)
	case "HEALTHCHECK":
		d.health(rest)
	case "LABEL":
		for _, m := range pair.FindAllStringSubmatch(rest, -1) {
			value := variable.ReplaceAllStringFunc(strings.Trim(m[2], `"`), func(v string) string { return d.args[strings.Trim(v, "${}")] })
			d.settings.Labels[m[1]] = value
		}
	default:
		d.t.Errorf("unknown instruction %s: teach it to this test, and the image too", instruction)
	}
}

func (d *dockerfile) copy(words []string) {
	d.t.Helper()
	var c copied
	for strings.HasPrefix(words[0], "--") {
		name, value, _ := strings.Cut(words[0], "=")
		owner, group, _ := strings.Cut(value, ":")
		switch {
		case name == "--from" && value == "build":
		case name == "--chown" && owner == group:
			n, err := strconv.Atoi(owner)
			if err != nil {
				d.t.Error(err)
			}
			c.owner = n
		default:
			d.t.Errorf("COPY %s: unknown to this test", words[0])
		}
		words = words[1:]
	}
	c.from = words[0]
	d.copies[words[1]] = c
}

func (d *dockerfile) health(rest string) {
	d.t.Helper()
	flags, command, _ := strings.Cut(rest, "CMD ")
	h := &d.settings.Healthcheck
	h.Test = append([]string{"CMD"}, d.list(command)...)
	for flag := range strings.FieldsSeq(flags) {
		name, value, _ := strings.Cut(flag, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			var duration time.Duration
			if duration, err = time.ParseDuration(value); err != nil {
				d.t.Error(err)
			}
			n = int(duration)
		}
		switch name {
		case "--interval":
			h.Interval = time.Duration(n)
		case "--timeout":
			h.Timeout = time.Duration(n)
		case "--start-period":
			h.StartPeriod = time.Duration(n)
		case "--retries":
			h.Retries = n
		default:
			d.t.Errorf("HEALTHCHECK %s: unknown to this test", flag)
		}
	}
}

// list reads a list of arguments in JSON. The other form of a command calls a shell, which the image does not have.
func (d *dockerfile) list(text string) (words []string) {
	d.t.Helper()
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		d.t.Errorf("%s: expected a list in JSON, because the image has no shell", text)
	}
	return words
}

func TestDockerfileMakesTheSameImage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../deploy/docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	d := lastStage(t, string(text), map[string]string{
		"VERSION": commit.version, "REVISION": commit.revision, "CREATED": commit.created.Format(time.RFC3339),
	})
	if want := newImage(commit, "").Config; !reflect.DeepEqual(d.settings, want) {
		t.Errorf("the Dockerfile makes\n%+v\nwant, as internal/build/image,\n%+v", d.settings, want)
	}
	held := make(map[string]copied)
	for _, e := range files(contents{}) {
		path := "/" + strings.TrimSuffix(e.name, "/")
		if c, found := d.copies[path]; found || e.name[len(e.name)-1] != '/' {
			held[path] = copied{from: c.from, owner: e.owner}
		}
	}
	if !maps.Equal(d.copies, held) {
		t.Errorf("the Dockerfile copies %v, want, as internal/build/image, %v", d.copies, held)
	}
	want := []string{"/etc/ssl/certs/ca-certificates.crt", "/licenses.txt", "/snowraft", data}
	if got := slices.Sorted(maps.Keys(held)); !slices.Equal(got, want) {
		t.Errorf("the image has %q, want %q", got, want)
	}
}
