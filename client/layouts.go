package client

import (
	"context"
	"iter"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// CreateLayout creates a layout and returns it. Layouts never change. If the same layout exists, CreateLayout returns
// it. If a different layout of that name exists, CreateLayout fails with ErrLayoutExists.
func (c *Client) CreateLayout(ctx context.Context, spec snowflake.Spec) (*snowflake.Layout, error) {
	resp, err := c.catalog.CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(spec)})
	if err != nil {
		return nil, err
	}
	return readLayout(resp.GetLayout())
}

// GetLayout returns the layout with the given name, or ErrUnknownLayout.
func (c *Client) GetLayout(ctx context.Context, name string) (*snowflake.Layout, error) {
	resp, err := c.catalog.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: name})
	if err != nil {
		return nil, err
	}
	return readLayout(resp.GetLayout())
}

// ListLayouts yields the layouts in ascending order of their names. It requests them page by page during the iteration.
// After an error it yields no more.
func (c *Client) ListLayouts(ctx context.Context) iter.Seq2[*snowflake.Layout, error] {
	return listing(readLayout, func(token string) ([]*snowraftv1.Layout, string, error) {
		resp, err := c.catalog.ListLayouts(ctx, &snowraftv1.ListLayoutsRequest{PageToken: token, PageSize: pageSize})
		return resp.GetLayouts(), resp.GetNextPageToken(), err
	})
}

func readLayout(m *snowraftv1.Layout) (*snowflake.Layout, error) {
	l, err := snowflake.New(rpc.Spec(m))
	if err != nil {
		return nil, malformed("the layout %q (%v)", m.GetName(), err)
	}
	return l, nil
}

const (
	pageSize = 1000 // greatest number of entries in a page
	// mostPages bounds the list of a member that never ends it.
	mostPages = 10_000
)

// listing returns an iterator over the entries of all pages.
func listing[M, T any](read func(M) (T, error), page func(token string) (entries []M, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		token := ""
		for pages := 1; ; pages++ {
			entries, next, err := page(token)
			if err == nil && next != "" && (next == token || pages == mostPages) {
				err = malformed("a list that does not end")
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, m := range entries {
				if entry, err := read(m); !yield(entry, err) || err != nil {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}
