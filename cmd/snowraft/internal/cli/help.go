package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagGroup is the annotation of a flag that names its group in the help.
const FlagGroup = "snowraft_group"

// usage prints the usage of a command. Unlike cobra's usage, it groups flags.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", usageLine(cmd))
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	writeCommands(&b, cmd)
	writeFlags(&b, cmd.Flags())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s COMMAND --help\" for more about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

func usageLine(cmd *cobra.Command) string {
	switch {
	case cmd.HasAvailableSubCommands() && !strings.Contains(cmd.Use, " "): // the arguments, if any, come first
		return cmd.CommandPath() + " COMMAND"
	case cmd.HasAvailableFlags():
		return cmd.CommandPath() + strings.TrimPrefix(cmd.Use, cmd.Name()) + " [flags]"
	default:
		return cmd.CommandPath() + strings.TrimPrefix(cmd.Use, cmd.Name())
	}
}

func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	list := func(title string, keep func(*cobra.Command) bool) {
		for _, sub := range cmd.Commands() {
			if !keep(sub) {
				continue
			}
			if title != "" {
				fmt.Fprintf(b, "\n%s\n", title)
				title = ""
			}
			fmt.Fprintf(b, "  %-*s %s\n", max(sub.NamePadding(), 11), sub.Name(), sub.Short)
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, func(c *cobra.Command) bool { return c.GroupID == g.ID })
	}
	list("Commands:", func(c *cobra.Command) bool { return c.GroupID == "" && c.IsAvailableCommand() })
	list("Topics:", (*cobra.Command).IsAdditionalHelpTopicCommand)
}

// writeFlags prints a command's own flags first, then its groups of flags.
func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	const own = "Flags"
	titles := []string{own}
	groups := map[string]*pflag.FlagSet{own: newFlagSet(flags.SortFlags)}
	lonely := true // no flags except --help and --version
	flags.VisitAll(func(f *pflag.Flag) {
		title := own
		if in := f.Annotations[FlagGroup]; len(in) > 0 {
			title = in[0]
		} else if f.Name != "help" && f.Name != "version" {
			lonely = false
		}
		if groups[title] == nil {
			titles = append(titles, title)
			groups[title] = newFlagSet(flags.SortFlags)
		}
		groups[title].AddFlag(f)
	})
	if lonely && len(titles) > 1 {
		titles = append(titles[1:], own)
	}
	for _, title := range titles {
		heading := title
		if title == own && lonely && len(titles) > 1 {
			heading = "Other"
		}
		if text := groups[title].FlagUsages(); text != "" {
			fmt.Fprintf(b, "\n%s:\n%s", heading, foldFlags(text))
		}
	}
}

// mostFlagColumns is the width of the widest flag whose help begins on its line.
const mostFlagColumns = 32

// usageLines matches the lines of pflag: a flag with the kind of its value, spaces, and its help.
var usageLines = regexp.MustCompile(`(?m)^( +\S+(?: \S+)*)  +(.*)\n`)

// foldFlags folds the help of flags into a column of its own.
func foldFlags(text string) string {
	var b strings.Builder
	lines, indent := usageLines.FindAllStringSubmatch(text, -1), 0
	for _, line := range lines {
		if n := len(line[1]); n <= mostFlagColumns {
			indent = max(indent, n+3)
		}
	}
	indent = max(indent, 10)
	for _, line := range lines {
		head := fmt.Sprintf("%-*s", indent, line[1])
		if len(line[1]) > mostFlagColumns {
			head = line[1] + "\n" + strings.Repeat(" ", indent)
		}
		fmt.Fprintf(&b, "%s%s\n", head, strings.Join(fold(line[2], foldedColumns-indent), "\n"+strings.Repeat(" ", indent)))
	}
	return b.String()
}

func newFlagSet(sorted bool) *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = sorted
	return set
}

// FlagError turns pflag's error about a flag into one line that names the
// flag, the value and the expected values.
func FlagError(cmd *cobra.Command, err error) error {
	var (
		invalid *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
		unknown *pflag.NotExistError
	)
	switch {
	case errors.As(err, &invalid):
		return badValue("--"+invalid.GetFlag().Name, invalid.GetValue(), invalid.GetFlag())
	case errors.As(err, &missing):
		return Usagef("--%s: missing value; expected %s", missing.GetFlag().Name, Expected(missing.GetFlag()))
	case errors.As(err, &unknown):
		name := "--" + unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			name = "-" + short
		}
		return Usagef("unknown flag %s; see \"%s --help\"", name, cmd.CommandPath())
	default:
		return Usagef("%v; see \"%s --help\"", err, cmd.CommandPath())
	}
}

// badValue returns the error for a wrong value of a flag. name is the flag, its variable or its place in a file.
func badValue(name, text string, f *pflag.Flag) error {
	if v, ok := f.Value.(*Value); ok && v.Hidden != nil {
		return Usagef("%s: expected %s", name, Expected(f))
	}
	return Usagef("%s %q: expected %s%s", name, text, Expected(f), bracketHint(text))
}

// bracketHint returns the advice for text that begins with an IPv6 address and a port without brackets; empty for other text.
func bracketHint(text string) string {
	for address := range strings.SplitSeq(text, ",") {
		if at := strings.LastIndexByte(address, ':'); at > 0 && strings.Contains(address[:at], ":") && net.ParseIP(strings.TrimSpace(address[:at])) != nil {
			return fmt.Sprintf("; an IPv6 address with a port has brackets, such as %q", net.JoinHostPort(strings.TrimSpace(address[:at]), address[at+1:]))
		}
	}
	return ""
}

// Expected describes the values that a flag accepts.
func Expected(f *pflag.Flag) string {
	if v, ok := f.Value.(*Value); ok {
		return v.Expects
	}
	return "true or false" // the only other kind of flag here
}
