package layout

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/collision"
	"github.com/snowraft/snowraft/snowflake"
)

// existing describes a system that issued IDs before the cluster: by its layout, by a sample of its IDs, or by both.
type existing struct {
	cmd          *cobra.Command
	form         specFlags
	since, until string
	sample       string
}

// existingSystem is the system that the flags of existing describe.
type existingSystem struct {
	layout       *snowflake.Layout // nil if only a sample is known
	since, until int64             // Unix ms, both included; without meaning if only a sample is known
	ids          collision.Set
	sampled      int // number of IDs in the sample
}

func (e *existing) addFlags() {
	flags := e.cmd.Flags()
	flags.SortFlags = false
	cli.AddFlag(e.cmd, "", "preset", "", cli.ChoiceValue(&e.form.preset, cli.PresetNames()...), "layout of the existing system").Value.(*cli.Value).Kind = "NAME"
	e.form.AddFlags(e.cmd, "", "the existing system")
	cli.AddFlag(e.cmd, "", "datacenter", "", cli.UintValue(&e.form.datacenter, 0), "datacenter in all IDs of the existing system (default: any)").DefValue = ""
	cli.AddFlag(e.cmd, "", "since", "", cli.TextValue(&e.since, "TIME"), "time of the existing system's first ID (default: the epoch)")
	cli.AddFlag(e.cmd, "", "until", "", cli.TextValue(&e.until, "TIME"), "time of the existing system's last ID (default: now)")
	cli.AddFlag(e.cmd, "", "sample", "", cli.FileValue(&e.sample), "file with IDs of the existing system, one per line; - reads standard input")
}

// describe returns the system that the flags describe. The default of --until is now.
func (e *existing) describe(stdin io.Reader, now int64) (existingSystem, error) {
	flags := e.cmd.Flags()
	given := flags.Changed
	s := existingSystem{until: now}
	if e.form.preset != "" || e.form.Fields != "" {
		if e.form.preset == "" && !given("epoch") {
			// The epoch of "layout create" would only be right for a copy of Snowraft's own layout.
			return s, cli.Usagef("layout check: missing --epoch; give the instant of the existing system's tick 0")
		}
		spec, err := e.form.base(flags)
		if err != nil {
			return s, err
		}
		if spec.Name == "" {
			spec.Name = "existing"
		}
		if s.layout, err = snowflake.New(spec); err != nil {
			return s, cli.Usagef("%s", cli.Plain(err))
		}
		s.since = s.layout.MillisAt(0)
	} else if e.sample == "" {
		return s, cli.Usagef("layout check: missing --preset, --fields or --sample; describe the existing system with at least one of them")
	}
	for _, name := range []string{"epoch", "unit", "datacenter", "since", "until"} {
		if s.layout == nil && given(name) {
			return s, cli.Usagef("--%s requires --preset or --fields", name)
		}
	}
	if err := errors.Join(instant("since", e.since, &s.since), instant("until", e.until, &s.until)); err != nil {
		return s, cli.Usagef("%v", err)
	}
	if s.layout != nil {
		if s.until < s.since {
			return s, cli.Usagef("--until %s is before --since %s; give the first and the last instant at which the existing system issues IDs", cli.Stamp(s.until), cli.Stamp(s.since))
		}
		s.ids = collision.All(s.layout, s.since, s.until)
		if given("datacenter") {
			switch bits := collision.Width(s.layout, snowflake.FieldDatacenter); {
			case bits == 0:
				return s, cli.Usagef("--datacenter: the existing system's layout has no datacenter field; remove the flag")
			case e.form.datacenter>>bits != 0:
				return s, cli.Usagef("--datacenter %d: expected 0 to %d", e.form.datacenter, uint64(1)<<bits-1)
			}
			s.ids = s.ids.With(s.layout, snowflake.FieldDatacenter, e.form.datacenter)
		}
	}
	if e.sample != "" {
		return s, e.measure(stdin, &s)
	}
	return s, nil
}

// instant parses the value of a flag into into, unless the value is empty.
func instant(flag, text string, into *int64) (err error) {
	if text == "" {
		return nil
	}
	if *into, err = cli.ParseTime(text); err != nil {
		return fmt.Errorf("--%s %q: %w", flag, text, err)
	}
	return nil
}

// measure reads the sample. For a system without a layout, the sample sets the IDs of s. Otherwise, it checks the layout.
func (e *existing) measure(stdin io.Reader, s *existingSystem) error {
	in := stdin
	if e.sample != "-" {
		file, err := os.Open(e.sample)
		if err != nil {
			return cli.Usagef("--sample %q: cannot be read (%v); choose a file with one ID per line, or - for standard input", e.sample, cli.Innermost(err))
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	least, greatest := uint64(math.MaxUint64), uint64(0)
	lines, n := bufio.NewScanner(in), 0
	for line := 1; lines.Scan(); line++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		id, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return cli.Usagef("--sample %s:%d: %.40q: expected a whole number from 0 to %d", e.sample, line, text, uint64(math.MaxUint64))
		}
		if s.layout != nil && !s.ids.Has(id) {
			return cli.Usagef("--sample %s:%d: ID %d%s; correct the fields, --epoch, --unit, --datacenter, --since or --until", e.sample, line, id, outside(s, id))
		}
		least, greatest, n = min(least, id), max(greatest, id), n+1
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return cli.Usagef("--sample %s: a line is longer than %d bytes; write one ID per line", e.sample, bufio.MaxScanTokenSize)
		}
		return fmt.Errorf("read --sample %s: %w", e.sample, err)
	}
	if n == 0 {
		return cli.Usagef("--sample %s: has no IDs; write one ID per line", e.sample)
	}
	if s.sampled = n; s.layout == nil {
		s.ids = collision.Between(least, greatest)
	}
	return nil
}

// outside returns why the described system did not issue an ID.
func outside(s *existingSystem, id uint64) string {
	parts, err := s.layout.Unpack(id)
	if err != nil {
		return fmt.Sprintf(" has more than the %d bits of the layout", s.layout.Bits())
	}
	at := s.layout.MillisAt(parts.Tick)
	if at < s.since || at > s.until {
		return fmt.Sprintf(" dates to %s, which is not from %s to %s", cli.Stamp(at), cli.Stamp(s.since), cli.Stamp(s.until))
	}
	return fmt.Sprintf(" has datacenter %d", parts.Datacenter)
}
