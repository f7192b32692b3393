package main

import (
	"github.com/spf13/cobra"
)

// addCompletion adds cobra's completion command, with examples.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Short = "Generate the completion script of a shell"
		cmd.Example = `  source <(snowraft completion bash)
  snowraft completion zsh >"${fpath[1]}/_snowraft"`
		cmd.GroupID = groupOther
		group(cmd)
		for _, shell := range cmd.Commands() {
			shell.Args = arguments()
			shell.Example = "  snowraft completion " + shell.Name()
		}
	}
}
