package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
)

// walk visits a command and all below it.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, visit)
	}
}

// clause matches the help of a flag that is not a noun phrase.
var clause = regexp.MustCompile(`^(?i)(what|how|where|when|which|who|whether|for|if|the|an?|from) `)

func TestEveryCommandIsExplained(t *testing.T) {
	t.Parallel()
	walk(newRoot(newTestApp().Host), func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if cmd.Short == "" || strings.Contains(cmd.Short, "\n") || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short is %q, want one line without a full stop", path, cmd.Short)
		}
		short, long := strings.Fields(cmd.Short), strings.Fields(cmd.Long)
		if len(long) == 0 || short[0] != long[0] && cmd.Runnable() {
			t.Errorf("%s: Long is %q, want the verb of Short, %q", path, cmd.Long, cmd.Short)
		}
		if len(cmd.Short) > 60 && cmd.HasParent() {
			t.Errorf("%s: Short has %d characters, want at most 60", path, len(cmd.Short))
		}
		if !strings.HasPrefix(cmd.Example, "  ") || !strings.Contains(cmd.Example, "snowraft") {
			t.Errorf("%s: Example is %q, want indented command lines", path, cmd.Example)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || clause.MatchString(f.Usage) || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: the help is %q, want a noun phrase or, for a switch, an imperative", path, f.Name, f.Usage)
			}
		})
		args := strings.Fields(path)[1:]
		help := succeeds(t, append(append([]string{}, "help"), args...)...)
		if !strings.Contains(cli.OneLine(help), cli.OneLine(cmd.Long)) || !strings.Contains(help, "Examples:\n"+cmd.Example) && cmd.Name() != "exit-codes" {
			t.Errorf("%s: the help is %s", path, help)
		}
		if cmd.Runnable() && succeeds(t, append(args, "--help")...) != help {
			t.Errorf("%s: --help and help differ", path)
		}
	})
}

// The flags in examples must exist.
func TestExamplesParse(t *testing.T) {
	t.Parallel()
	root := newRoot(newTestApp().Host)
	var examples []string
	walk(root, func(cmd *cobra.Command) {
		text := strings.ReplaceAll(cmd.Example, "\\\n", " ")
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), ">")
			line, _, _ = strings.Cut(line, "  ")
			_, args, found := strings.Cut(line, "snowraft ")
			if found && !strings.Contains(line, "<(") {
				examples = append(examples, args)
			}
		}
	})
	if len(examples) < 40 {
		t.Fatalf("only %d examples were found", len(examples))
	}
	for _, example := range examples {
		root := newRoot(newTestApp().Host)
		cmd, rest, err := root.Find(strings.Fields(example))
		if err != nil {
			t.Errorf("snowraft %s: %v", example, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("snowraft %s: %v", example, err)
		}
		if cmd.Args != nil {
			if err := cmd.Args(cmd, cmd.Flags().Args()); err != nil {
				t.Errorf("snowraft %s: %v", example, err)
			}
		}
	}
}

// Commands, flags, variables and keys are API: testdata/flags.golden lists all of them, so that each change
// edits that file. A flag, its variable and its key have one name.
func TestGoldenFlags(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	walk(newRoot(newTestApp().Host), func(cmd *cobra.Command) {
		fmt.Fprintln(&list, cmd.CommandPath()+strings.TrimPrefix(cmd.Use, cmd.Name()))
		config := cmd.Flags().Lookup("config") != nil
		cmd.Flags().SortFlags = true
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			line := "  --" + f.Name
			if f.Shorthand != "" {
				line = "  -" + f.Shorthand + ", --" + f.Name
			}
			if f.NoOptDefVal == "" {
				line += " " + f.Value.Type()
			}
			if env := f.Annotations[cli.EnvNote]; len(env) > 0 {
				if want := "SNOWRAFT_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")); len(env) != 1 || env[0] != want {
					t.Errorf("%s --%s has the variables %q, want %s", cmd.CommandPath(), f.Name, env, want)
				}
				line += "; env " + env[0]
				if config && f.Name != "config" {
					line += "; key " + f.Name
				}
			}
			if f.DefValue != "" {
				line += "; default " + f.DefValue
			}
			fmt.Fprintln(&list, line)
		})
	})
	clitest.Golden(t, "flags", list.String())
}

// checkColumns checks that text fits a width, except for words that are longer.
func checkColumns(t *testing.T, what, text string, width int) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if words := strings.Fields(line); utf8.RuneCountInString(line) > width && len(words) > 2 {
			t.Errorf("%s has a line of %d columns: %q", what, utf8.RuneCountInString(line), line)
		}
	}
}

// The help of all commands fits a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	var paths []string
	walk(newRoot(newTestApp().Host), func(cmd *cobra.Command) { paths = append(paths, cmd.CommandPath()) })
	for _, path := range paths {
		checkColumns(t, path, succeeds(t, append([]string{"help"}, strings.Fields(path)[1:]...)...), 80)
	}
}

func TestGoldenHelp(t *testing.T) {
	t.Parallel()
	clitest.Golden(t, "help", succeeds(t))
	clitest.Golden(t, "help-serve", succeeds(t, "help", "serve"))
	clitest.Golden(t, "help-gateway", succeeds(t, "help", "gateway"))
	clitest.Golden(t, "help-exit-codes", succeeds(t, "help", "exit-codes"))
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if script := succeeds(t, "completion", shell); !strings.Contains(script, "snowraft") || len(script) < 1000 {
			t.Errorf("%s: the script is %q", shell, script)
		}
	}
	for line, want := range map[string]string{
		"decode 1 --layout":         "twitter",
		"id --encoding":             "base58",
		"id --output":               "json",
		"serve --initial-rollback":  "swap",
		"config set --redis-create": "relaxed",
		"layout":                    "create",
		"member":                    "leave",
		"seq":                       "delete",
		"seq create --mode":         "relaxed",
		"seq update --reset":        "monthly",
		"seq create --time-zone":    "Europe/Berlin",
		"seq create --year-starts":  "04-06",
		"seq update --mode":         "relaxed",
		"help member":               "remove",
	} {
		a := newTestApp()
		a.Stderr = io.Discard // cobra reports the directive there
		if code := run(t.Context(), a.Host, append(append([]string{"__complete"}, strings.Fields(line)...), "")); code != cli.ExitDone {
			t.Errorf("%s: exit code %d", line, code)
		}
		if !strings.Contains(a.Out.String(), want) {
			t.Errorf("%s: offers %q, want %s among them", line, a.Out.String(), want)
		}
	}
}

// Shells offer what the cluster has: its layouts, members, patterns of templates and tokens.
func TestNamesOfTheClusterComplete(t *testing.T) {
	t.Parallel()
	api := clitest.NewAPI(t)
	for line, want := range map[string]string{
		"id --layout or":               "orders\n",
		"bench ids --layout or":        "orders\n",
		"worker list --layout or":      "orders\n",
		"decode 1 --layout ":           "netease\norders\nsonyflake\n",
		"layout get or":                "orders\n",
		"member remove b":              "b\t10.0.0.2:7700\n",
		"leader transfer a":            "a\t10.0.0.1:7700\n",
		"upgrade finalize --without b": "b\t10.0.0.2:7700\n",
		"template apply inv":           "invoices/*\tone for each tenant\n",
		"template get x":               "",
		"token get bil":                "billing\n",
		"token update bil":             "billing\n",
		"token delete bil":             "billing\n",
		"token create a --scope seq:":  "seq:next:\nseq:read:\nseq:decode:\nseq:admin:\n",
		"member remove b b":            "",
	} {
		a := newTestApp()
		a.Environ["SNOWRAFT_ADDR"] = api.Address
		a.Stderr = io.Discard // cobra reports the directive there
		if code := run(t.Context(), a.Host, append([]string{"__complete"}, strings.Split(line, " ")...)); code != cli.ExitDone {
			t.Errorf("%s: exit code %d", line, code)
		}
		directive := ":4\n" // no files
		if strings.HasPrefix(want, "seq:") {
			directive = ":6\n" // nor a space
		}
		if got := a.Out.String(); !strings.Contains(got, want) || !strings.HasSuffix(got, directive) || want == "" && got != directive {
			t.Errorf("%s: offers %q, want %q in it", line, got, want+directive)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if got, want := succeeds(t, "--version"), "snowraft "+build().Version+"\n"; got != want {
		t.Errorf("--version prints %q, want %q", got, want)
	}
	var b buildInfo
	clitest.Decode(t, succeeds(t, "version", "-o", "json"), &b)
	if b != build() {
		t.Errorf("version -o json prints %+v", b)
	}
}
