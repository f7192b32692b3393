package bench

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/load"
	"github.com/snowraft/snowraft/snowflake"
)

func newHTTP(a *cli.App) *cobra.Command {
	var (
		layout string
		post   bool
	)
	cmd := &cobra.Command{
		Use:   "http [SEQUENCE]",
		Short: "Measure IDs or numbers as plain text over HTTP",
		Long: `Measure IDs or numbers over HTTP: request /id, or /seq/SEQUENCE if it is given, from
--clients clients with a kept connection each. With --batch, a response has that many
lines. bench takes the numbers of a sequence with POST. It cannot check formatted
numbers for duplicates: use --check=false for a sequence with a format.`,
		Example: `  snowraft bench http
  snowraft bench http orders --clients 100 --batch 10
  snowraft bench http --post --addr 10.0.0.1:7701,10.0.0.2:7701`,
	}
	a.AddLayoutFlag(cmd, &layout)
	cmd.Flags().BoolVar(&post, "post", false, "take IDs with POST instead of GET")
	return command(a, cmd, target{
		noun: "numbers", port: cli.HTTPPort,
		batch: limits.Texts, batchHelp: "IDs or numbers per request",
		open: func(ctx context.Context, cfg config, args []string) (*clients, error) {
			access, err := cfg.load()
			if err != nil {
				return nil, err
			}
			path, method, query := "/id", http.MethodGet, url.Values{}
			if layout != snowflake.Default().Name() {
				query.Set("layout", layout)
			}
			if len(args) > 0 {
				if cmd.Flags().Changed("layout") {
					return nil, cli.Usagef("--layout cannot be combined with SEQUENCE")
				}
				post, path = true, "/seq/"+strings.ReplaceAll(url.PathEscape(args[0]), "%2F", "/")
			}
			if post {
				method = http.MethodPost
			}
			return ownConnections(ctx, cfg, func(address string, batch int) closingCaller {
				query, full := maps.Clone(query), path
				if batch > 1 {
					query.Set("count", strconv.Itoa(batch))
				}
				if len(query) > 0 {
					full += "?" + query.Encode()
				}
				return load.NewHTTP(address, method, full, uint64(batch), cfg.timeout, access) //nolint:gosec // the flag is at least 1
			})
		},
	})
}
