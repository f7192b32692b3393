package main

import (
	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
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
		cli.Group(cmd)
		for _, shell := range cmd.Commands() {
			shell.Args = cli.Args()
			shell.Example = "  snowraft completion " + shell.Name()
		}
	}
}
