// Command image writes the container image of a built program as an OCI archive, without a container engine. Equal
// arguments and files make equal archives, byte for byte. deploy/docker/Dockerfile makes the same image with an engine,
// and a test compares the two.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// tag matches the texts that a registry accepts as the tag of an image.
var tag = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

func run(args []string) error {
	var r release
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "`version` of the program, and tag of the image")
	flags.StringVar(&r.revision, "revision", "", "`commit` of the program")
	flags.StringVar(&r.arch, "arch", "", "`architecture` of the program: amd64 or arm64")
	created := flags.Int64("created", 0, "Unix `time` of the commit")
	program := flags.String("program", "", "`file` with the static program")
	licenses := flags.String("licenses", "", "`file` with the licenses of the modules in the program")
	certificates := flags.String("certificates", "", "`file` with the CA certificates")
	out := flags.String("out", "", "`file` to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case !tag.MatchString(r.tag()):
		return fmt.Errorf("--version %q: expected the tag of an image", r.version)
	case machines[r.arch] == 0:
		return fmt.Errorf("--arch %q: expected amd64 or arm64", r.arch)
	case r.revision == "" || *created <= 0 || flags.NArg() > 0:
		return errors.New("expected --revision, --created and no arguments")
	}
	r.created = time.Unix(*created, 0).UTC()
	var c contents
	for path, content := range map[*string]*[]byte{program: &c.program, licenses: &c.licenses, certificates: &c.certificates} {
		var err error
		if *content, err = os.ReadFile(*path); err != nil {
			return err
		}
	}
	if err := checkProgram(c.program, r.arch); err != nil {
		return fmt.Errorf("program %s: %w", *program, err)
	}
	archive, err := build(r, c)
	if err != nil {
		return err
	}
	return os.WriteFile(*out, archive, 0o644) //nolint:gosec // a release is readable by all
}
