package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

const (
	httpFlag = "http-addr"
	// maxHealth is the greatest size of the header and of the body that a check reads, in bytes each.
	maxHealth = 4 << 10
)

// NewHealth returns the command health.
func NewHealth(h *Host) *cobra.Command {
	address, configPath := net.JoinHostPort(cli.Localhost, strconv.Itoa(cli.HTTPPort)), ""
	ready, timeout := false, 3*time.Second
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check the health of the local process",
		Long: `Check the health of the member or gateway on this machine, for containers and
scripts. The exit code is 0 if the process is healthy and 1 if it is not.

A process is healthy until it must stop. A member that waits for other members, for
quorum or for its clock is healthy, because a restart would not help. With --ready,
the check succeeds only if the process can issue IDs now.

The command reads the address of the HTTP port from the same variables and the same
configuration file as "snowraft serve" and "snowraft gateway". It needs no token and
no secret, and finds out whether the port speaks TLS.`,
		Example: `  snowraft health
  snowraft health --ready --http-addr 127.0.0.1:7711
  snowraft health --ready --config /etc/snowraft/snowraft.yaml`,
		Args: cli.Args,
	}
	cmd.Flags().SortFlags = false
	cli.AddFlag(cmd, "", "ready", "", cli.SwitchValue(&ready), "succeed only if the process can issue IDs now").NoOptDefVal = "true"
	cli.AddFlag(cmd, "", "timeout", "", cli.DurationValue(&timeout, time.Millisecond, time.Minute), "longest time of the check")
	cli.AddSetting(cmd, "Process", httpFlag, cli.ListenValue(&address), "address that the process listens at for HTTP")
	cli.AddSetting(cmd, "Process", configFlag, cli.FileValue(&configPath), "configuration file of the process")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := h.loadSettings(cmd.Flags(), &configPath, true); err != nil {
			return err
		}
		at, err := localAddress(address)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		path, state := "/healthz", "healthy"
		if ready {
			path, state = "/readyz", "ready"
		}
		if err := check(ctx, at, path, state); err != nil {
			return err
		}
		return h.Printer(cli.OutputText).Answer(nil, cli.Line("%s: %s", at, state))
	}
	return cmd
}

// localAddress returns the address at which this machine reaches a listener.
func localAddress(listener string) (string, error) {
	host, port, _ := net.SplitHostPort(listener) // ListenValue has checked it
	if port == "0" {
		return "", cli.Usagef("--%s %q: the process chose its port when it started; set the port that its log shows", httpFlag, listener)
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = cli.Localhost // all interfaces, of both versions of IP
	}
	return net.JoinHostPort(host, port), nil
}

// check returns nil if the process at an address reports that it has the state.
func check(ctx context.Context, address, path, state string) error {
	// The check does not verify the certificate, because it must not fail when a certificate expired or the clock is off.
	// The request carries no secret or token, and no decision beyond this machine depends on the answer.
	transport := &http.Transport{
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxHealth,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	code, text, err := get(ctx, client, "http://"+address+path)
	if err == nil && code == http.StatusBadRequest {
		code, text, err = get(ctx, client, "https://"+address+path) // the answer of a TLS port to a plain request
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: not %s: no answer in time", address, state)
	case err != nil && strings.Contains(err.Error(), "malformed HTTP"): // net/http has no type for it
		return fmt.Errorf("%s: not %s: the answer is not HTTP; check that --%s is the address of the process", address, state, httpFlag)
	case err != nil:
		return fmt.Errorf("%s: not %s: %w; check that the process runs, and that --%s is its address", address, state, cli.Innermost(err), httpFlag)
	case code != http.StatusOK:
		return fmt.Errorf("%s: not %s: %s", address, state, text)
	default:
		return nil
	}
}

// get returns the status code and the text of an answer.
func get(ctx context.Context, client *http.Client, url string) (code int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxHealth))
	if err != nil {
		return 0, "", err
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, string(body))
	return response.StatusCode, strings.TrimSpace(text), nil
}
