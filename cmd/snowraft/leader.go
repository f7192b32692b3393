package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// leaderDoc is who leads.
type leaderDoc struct {
	ID   string `json:"leader_id"`
	Name string `json:"leader_name"`
}

func (a *app) leaderCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "leader",
		Short: "Show and move the leadership",
		Long: `The leader orders what the cluster agrees on. Issuing IDs does not need it, so
moving the leadership interrupts nothing.`,
		Example: `  snowraft leader show
  snowraft leader transfer b`,
	}, a.leaderShowCommand(), a.leaderTransferCommand())
}

func (a *app) leaderShowCommand() *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "show",
		Short: "Show who leads",
		Long: `Shows who leads, as the member that answers knows it. While an election is under
way it waits for a moment; it fails when no leader is known then.`,
		Example: `  snowraft leader show
  snowraft leader show -o json`,
		Args: arguments(),
	}, func(ctx context.Context, r *remote, _ []string) error {
		moment, end := context.WithTimeout(ctx, min(retryFor, r.timeout))
		defer end()
		for {
			resp, err := r.cluster().GetStatus(ctx, &snowraftv1.GetStatusRequest{})
			if err != nil {
				return err
			}
			if resp.GetLeaderId() != "" {
				return r.out.leader(resp.GetLeaderId(), resp.GetLeaderName())
			}
			select {
			case <-time.After(retryPause):
			case <-moment.Done():
				return errors.New("no leader is known now: no majority of the voters is alive, or an election takes long")
			}
		}
	})
}

func (a *app) leaderTransferCommand() *cobra.Command {
	return a.client(&cobra.Command{
		Use:   "transfer [NAME|ID]",
		Short: "Move the leadership to another voter",
		Long: `Moves the leadership to the voter that is named, or to whichever has caught up
best, and prints who leads then.`,
		Example: `  snowraft leader transfer
  snowraft leader transfer b`,
		Args: arguments("[NAME|ID]"),
	}, func(ctx context.Context, r *remote, args []string) error {
		req := &snowraftv1.TransferLeadershipRequest{}
		if len(args) == 1 {
			req.Member = args[0]
		}
		resp, err := r.cluster().TransferLeadership(ctx, req)
		if err != nil {
			return err
		}
		return r.out.leader(resp.GetLeaderId(), resp.GetLeaderName())
	})
}

// leader prints who leads.
func (p *printer) leader(id, name string) error {
	return p.answer(leaderDoc{ID: id, Name: name}, line("%s leads (%s)", name, id))
}
