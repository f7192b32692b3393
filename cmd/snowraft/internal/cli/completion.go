package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// completionTimeout is the longest time that completion waits for names.
	completionTimeout = time.Second
	// MostCompletions is the greatest number of names offered.
	MostCompletions = 100
)

// Offer returns names of the cluster that shells offer in place of the text begin.
type Offer func(ctx context.Context, r *Remote, begin string) ([]cobra.Completion, error)

// CompleteFlag makes shells offer names for a flag.
func (a *App) CompleteFlag(cmd *cobra.Command, flag string, offer Offer) {
	// The only possible error is that the flag does not exist or was registered before.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.offered(cmd, begin, offer), cobra.ShellCompDirectiveNoFileComp
	})
}

// CompleteFirst returns a function that makes shells offer names for the first argument.
func (a *App) CompleteFirst(offer Offer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.offered(cmd, begin, offer), cobra.ShellCompDirectiveNoFileComp
	}
}

// offered returns the names with the prefix begin. It returns nothing after an error, because nothing shows errors during
// completion.
func (a *App) offered(cmd *cobra.Command, begin string, offer Offer) []cobra.Completion {
	addresses := cmd.Flags().Lookup(AddrFlag)
	if addresses == nil || a.Resolve(cmd.Flags()) != nil {
		return nil
	}
	r, err := Dial(strings.Split(addresses.Value.String(), ","), completionTimeout, AccessOf(cmd.Flags()))
	if err != nil {
		return nil
	}
	defer r.Close()
	offered, err := offer(cmd.Context(), r, begin)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(offered, func(name cobra.Completion) bool { return !strings.HasPrefix(name, begin) })
}

// Members offers the names of members.
func Members(ctx context.Context, r *Remote, _ string) ([]cobra.Completion, error) {
	resp, err := r.Cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	return Map(func(m *snowraftv1.Member) cobra.Completion {
		return cobra.CompletionWithDesc(m.GetName(), m.GetApiAddress())
	}, resp.GetMembers()), err
}

// Layouts offers the names of layouts.
func Layouts(ctx context.Context, r *Remote, _ string) ([]cobra.Completion, error) {
	resp, err := r.Layouts.ListLayouts(ctx, &snowraftv1.ListLayoutsRequest{PageSize: MostCompletions})
	return Map((*snowraftv1.Layout).GetName, resp.GetLayouts()), err
}

// Tokens offers the names of API tokens.
func Tokens(ctx context.Context, r *Remote, _ string) ([]cobra.Completion, error) {
	resp, err := r.Tokens.ListTokens(ctx, &snowraftv1.ListTokensRequest{PageSize: MostCompletions})
	return Map((*snowraftv1.Token).GetName, resp.GetTokens()), err
}
