package main

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// completionPatience is how long a shell waits for names to offer.
	completionPatience = time.Second
	// mostCompletions is how many names are offered.
	mostCompletions = 100
)

// sequenceArguments is arguments of a command whose first one is the name of a sequence.
func sequenceArguments(more ...string) cobra.PositionalArgs {
	check := arguments(append([]string{"NAME"}, more...)...)
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && !utf8.ValidString(args[0]) {
			return usagef("%s: NAME %q: expected 1 to 128 bytes of printable UTF-8 without spaces", below(cmd), args[0])
		}
		return check(cmd, args)
	}
}

// sequenceClient makes cmd a client command whose first argument is the name of
// a sequence: shells offer those that there are.
func (a *app) sequenceClient(cmd *cobra.Command, work func(ctx context.Context, r *remote, args []string) error) *cobra.Command {
	cmd = a.client(cmd, work)
	cmd.ValidArgsFunction = a.completeSequence
	return cmd
}

// completeSequence offers names of sequences for the first argument.
func (a *app) completeSequence(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.sequenceNames(cmd, begin)
}

// completeWithSequences makes shells offer the names of sequences for a flag.
func (a *app) completeWithSequences(cmd *cobra.Command, flag string) {
	// The one error there is: the flag does not exist or was registered before.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
		return a.sequenceNames(cmd, begin)
	})
}

// sequenceNames returns the names that begin like that, with what they are for.
// Nobody reads an error while a command line is written: it offers nothing then.
func (a *app) sequenceNames(cmd *cobra.Command, begin string) ([]string, cobra.ShellCompDirective) {
	if err := resolve(cmd.Flags(), a.env, nil); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	addresses := cmd.Flags().Lookup(addrFlag).Value.String()
	c := newClient(strings.Split(addresses, ","), completionPatience)
	defer c.close()
	resp, err := snowraftv1.NewSequenceServiceClient(c).ListSequences(cmd.Context(), &snowraftv1.ListSequencesRequest{PageSize: mostCompletions, Prefix: begin})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, s := range resp.GetSequences() {
		names = append(names, cobra.CompletionWithDesc(s.GetName(), oneLine(s.GetDescription())))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
