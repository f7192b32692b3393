package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options holds the flags.
type options struct {
	rounds       int
	duration     time.Duration
	only, except string
	long, write  bool
	snowraft     string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 1 && args[0] == roleArgument {
		return play(ctx, args[1], args[2:])
	}
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "number of turns of each contender")
	flags.DurationVar(&o.duration, "duration", 2*time.Second, "duration of a turn")
	flags.StringVar(&o.only, "only", "", "sections to measure, separated by commas; sections that take minutes may be among them")
	flags.StringVar(&o.except, "except", "", "sections to skip, separated by commas")
	flags.BoolVar(&o.long, "long", false, "also measure the sections that take minutes")
	flags.BoolVar(&o.write, "write", false, "write the tables into docs/performance.md and the other pages with tables")
	flags.StringVar(&o.snowraft, "snowraft", "", "program to measure (default: bin/snowraft, which make build writes)")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "usage: bench [flags]\n\nsections: ", strings.Join(names(), ", "), "\n\n")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0 || o.rounds < 1 || o.duration <= 0:
		return errors.New("expected flags only, at least one round and a duration more than 0")
	}
	chosen, err := choose(sections(), o)
	if err != nil {
		return err
	}
	e, err := newEnv(o)
	if err != nil {
		return err
	}
	return errors.Join(e.measureAll(ctx, chosen), e.close())
}

// choose returns the sections that the flags select.
func choose(all []section, o options) ([]section, error) {
	only, err := list("--only", o.only, all)
	if err != nil {
		return nil, err
	}
	except, err := list("--except", o.except, all)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s section) bool {
		if len(only) > 0 {
			return !slices.Contains(only, s.name)
		}
		return slices.Contains(except, s.name) || s.long && !o.long
	}), nil
}

// list parses a list of section names.
func list(flag, text string, all []section) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	chosen := strings.Split(text, ",")
	for _, name := range chosen {
		if !slices.ContainsFunc(all, func(s section) bool { return s.name == name }) {
			return nil, fmt.Errorf("%s: there is no section %q, expected some of %s", flag, name, strings.Join(names(), ", "))
		}
	}
	return chosen, nil
}

// root returns the directory of the repository: the working directory, or its nearest parent that
// contains the program.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "snowraft")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("this is not a directory of the repository; run the program in bench")
		}
		dir = above
	}
}
