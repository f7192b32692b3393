package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	pace     = 2 * time.Millisecond // time between the calls of an application
	patience = time.Second          // time limit per call
)

// A source gives the next number, a text that is equal exactly if the number is.
type source func(ctx context.Context) (string, error)

// drive calls a source until the process is killed. It prints a line for its clock and each call: see [record].
func drive(ctx context.Context, next source) error {
	out := bufio.NewWriter(os.Stdout)
	_, _ = fmt.Fprintf(out, "@%d\n", time.Now().UnixMilli()) // the first Flush reports the error
	turns := time.NewTicker(pace)
	defer turns.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, patience)
		text, err := next(limited)
		cancel()
		sign := '='
		if err != nil {
			sign, text = '!', strings.ReplaceAll(err.Error(), "\n", " ")
		}
		_, _ = fmt.Fprintf(out, "%c%s\n", sign, text) // Flush reports the error
		if err := out.Flush(); err != nil {
			return err
		}
		select {
		case <-turns.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
