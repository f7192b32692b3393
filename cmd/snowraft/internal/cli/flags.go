package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// EnvNote is the annotation of a flag that an environment variable can also set.
const EnvNote = "snowraft_env"

// insteadNote is the annotation of a flag whose environment variable is ignored if another flag is given.
const insteadNote = "snowraft_instead"

// EnvName returns the environment variable of a flag: SNOWRAFT_DATA_DIR for data-dir.
func EnvName(flag string) string {
	return "SNOWRAFT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// AddFlag adds a flag to the command line only.
func AddFlag(cmd *cobra.Command, group, name, short string, v *Value, help string) *pflag.Flag {
	f := cmd.Flags().VarPF(v, name, short, help)
	if group != "" {
		f.Annotations = map[string][]string{FlagGroup: {group}}
	}
	if v.Among != nil || v.Hidden != nil {
		// The only possible error is that the flag was registered before. VarPF has refused that.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(v.Among, cobra.ShellCompDirectiveNoFileComp))
	}
	return f
}

// AddGenerationFlag adds the flag with the generation that a change of the noun requires. The function given returns the
// generation on the command line, or nil.
func AddGenerationFlag(cmd *cobra.Command, noun string) (given func() *uint64) {
	const name = "if-generation"
	generation := new(uint64)
	AddFlag(cmd, "", name, "", UintValue(generation, 1), "generation that the "+noun+" must have; any other one fails the command").DefValue = ""
	return func() *uint64 {
		if !cmd.Flags().Changed(name) {
			return nil
		}
		return generation
	}
}

// AddSetting adds a flag that an environment variable can also set.
func AddSetting(cmd *cobra.Command, group, name string, v *Value, help string) {
	f := AddFlag(cmd, group, name, "", v, help+" (env "+EnvName(name)+")")
	f.Annotations[EnvNote] = []string{EnvName(name)}
}

// instead makes a flag of the command line override the environment variable of another flag.
func instead(cmd *cobra.Command, name, other string) {
	cmd.Flags().Lookup(other).Annotations[insteadNote] = []string{name}
}

// Resolve sets the settings that the command line does not give: from the environment,
// otherwise from the configuration file. entry returns the text of a setting and its place
// in the file; it is nil without a file. The settings found count as changed.
func Resolve(flags *pflag.FlagSet, env func(string) string, entry func(name string) (text, where string, ok bool)) error {
	var first error
	replaced := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) {
		for _, other := range f.Annotations[insteadNote] {
			replaced[f.Name] = flags.Changed(other)
		}
	})
	flags.VisitAll(func(f *pflag.Flag) {
		names := f.Annotations[EnvNote]
		if first != nil || f.Changed || len(names) == 0 || replaced[f.Name] {
			return
		}
		// An empty variable counts as not set: no setting can be empty, and container
		// tools pass on variables that have no value.
		if text := env(names[0]); text != "" {
			first = assign(f, names[0], text)
			return
		}
		if entry == nil {
			return
		}
		if text, where, ok := entry(f.Name); ok {
			first = assign(f, where, text)
		}
	})
	return first
}

// assign sets a flag to a value from the environment or a file, where the flag has another name.
func assign(f *pflag.Flag, name, text string) error {
	if err := f.Value.Set(text); err != nil {
		return badValue(name, text, f)
	}
	f.Changed = true
	return nil
}
