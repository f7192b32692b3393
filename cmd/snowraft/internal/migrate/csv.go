package migrate

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// fileSource is a list of counters in a file.
type fileSource struct{ all []counter }

// readCSV reads lines of name,last or name,last,increment below a heading with these names.
func readCSV(r io.Reader) (source, error) {
	lines := csv.NewReader(r)
	heading, err := lines.Read()
	if err != nil {
		return nil, fmt.Errorf("CSV: %w", err)
	}
	if !slices.Equal(heading, []string{"name", "last"}) && !slices.Equal(heading, []string{"name", "last", "increment"}) {
		return nil, errors.New("CSV: expected the heading name,last or name,last,increment in the first line")
	}
	s := &fileSource{}
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return s, nil
		} else if err != nil {
			return nil, fmt.Errorf("CSV: %w", err)
		}
		line, _ := lines.FieldPos(0)
		c := counter{name: fields[0], used: true, increment: 1}
		if c.last, err = strconv.ParseInt(fields[1], 10, 64); err == nil && len(fields) > 2 {
			c.increment, err = strconv.ParseInt(fields[2], 10, 64)
		}
		if err != nil || c.increment == 0 {
			return nil, fmt.Errorf("CSV, line %d: expected a name, the last number, and an increment other than 0", line)
		}
		s.all = append(s.all, c)
	}
}

func (s *fileSource) counters(_ context.Context, match func(string) bool) (counters []counter, err error) {
	for _, c := range s.all {
		if match(c.name) {
			counters = append(counters, c)
		}
	}
	return counters, nil
}

func (s *fileSource) fence(context.Context, string) (counter, error) {
	return counter{}, errors.New("a file has no fence: stop all writers, and use --writers-stopped")
}

func (s *fileSource) settle(context.Context) error { return nil }

func (s *fileSource) close() {}
