package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// An event is a line of a raw file, see [record].
type event struct {
	at   time.Duration // since the first call
	who  string
	sign byte
	text string
}

// read calls each with the events of a raw file, in their order, until it returns an error.
func read(path string, each func(event) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), "\t", 4)
		if len(fields) != 4 || len(fields[2]) != 1 {
			return fmt.Errorf("%s: unexpected line %q", path, lines.Text())
		}
		micros, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := each(event{time.Duration(micros) * time.Microsecond, fields[1], fields[2][0], fields[3]}); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return lines.Err()
}
