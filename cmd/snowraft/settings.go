package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// envNote is the annotation of a flag that the environment can set too.
const envNote = "snowraft_env"

// envName returns the environment variable of a flag: data-dir is SNOWRAFT_DATA_DIR.
func envName(flag string) string {
	return "SNOWRAFT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// addFlag adds a flag to the command line only.
func addFlag(cmd *cobra.Command, group, name, short string, v *value, help string) *pflag.Flag {
	f := cmd.Flags().VarPF(v, name, short, help)
	if group != "" {
		f.Annotations = map[string][]string{flagGroup: {group}}
	}
	if v.among != nil {
		// The one error there is: it was registered before. VarPF has refused that.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(v.among, cobra.ShellCompDirectiveNoFileComp))
	}
	return f
}

// addSetting adds a flag that an environment variable can set too.
func addSetting(cmd *cobra.Command, group, name string, v *value, help string) {
	f := addFlag(cmd, group, name, "", v, help+" (env "+envName(name)+")")
	f.Annotations[envNote] = []string{envName(name)}
}

// resolve fills in the settings that the command line does not give: from the
// environment, else from the file. Those found count as changed.
func resolve(flags *pflag.FlagSet, env func(string) string, file *configFile) error {
	var first error
	flags.VisitAll(func(f *pflag.Flag) {
		names := f.Annotations[envNote]
		if first != nil || f.Changed || len(names) == 0 {
			return
		}
		// Empty is not set: there is no setting that can be empty, and container
		// tools pass variables on that were never filled in.
		if text := env(names[0]); text != "" {
			first = assign(f, names[0], text)
			return
		}
		if in, ok := file.entry(f.Name); ok {
			first = assign(f, in.where, in.text)
		}
	})
	return first
}

// assign sets a flag to a value that came from elsewhere, under another name.
func assign(f *pflag.Flag, name, text string) error {
	if err := f.Value.Set(text); err != nil {
		return badValue(name, text, f)
	}
	f.Changed = true
	return nil
}
