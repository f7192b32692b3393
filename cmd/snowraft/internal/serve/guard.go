package serve

import (
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// The flags of a guard.
const (
	secretFlag   = "secret-file"
	insecureFlag = "insecure"
	tlsFlag      = "client-tls"
	certFlag     = "tls-cert"
	keyFlag      = "tls-key"
	hostsFlag    = "tls-hosts"
	auditFlag    = "audit-log"
	namesFlag    = "http-hosts"
)

// guard holds the settings that restrict access to a process.
type guard struct {
	secretFile        string // members only
	auditLog          string
	certFile, keyFile string

	audit *auditFile // nil: the audit log goes to the log
}

const security = "Security" // group of the flags

func addGuardFlags(cmd *cobra.Command, c *config) {
	cli.AddSetting(cmd, security, secretFlag, cli.FileValue(&c.secretFile), "file with the cluster's secret, the same on all members (see \"snowraft secret create\"); without the file, every process that reaches a port can do everything")
	cli.AddSetting(cmd, security, tlsFlag, cli.SwitchValue(&c.ClientTLS), "speak TLS with clients of a secured member; false leaves that to a proxy or a mesh")
	cmd.Flags().Lookup(tlsFlag).NoOptDefVal = "true"
	cli.AddSetting(cmd, security, hostsFlag, cli.HostsValue(&c.TLSHosts), "additional host names and IP addresses in the certificate by the cluster's CA, such as that of a load balancer")
	addCertificateFlags(cmd, &c.guard, "PEM file with the certificate that clients see, instead of one by the cluster's CA")
	addAuditFlag(cmd, &c.guard)
	addInsecureFlag(cmd, c)
}

func addAuditFlag(cmd *cobra.Command, g *guard) {
	cli.AddSetting(cmd, security, auditFlag, cli.FileValue(&g.auditLog), "file that gets a JSON line per administrative call (default: the log)")
}

func addCertificateFlags(cmd *cobra.Command, g *guard, help string) {
	cli.AddSetting(cmd, security, certFlag, cli.FileValue(&g.certFile), help+"; reloaded when it changes")
	cli.AddSetting(cmd, security, keyFlag, cli.FileValue(&g.keyFile), "PEM file with the private key of --"+certFlag)
}

func addInsecureFlag(cmd *cobra.Command, c *config) {
	cli.AddSetting(cmd, security, insecureFlag, cli.SwitchValue(&c.Insecure), "serve every process that reaches a port, even on other addresses than loopback")
	cmd.Flags().Lookup(insecureFlag).NoOptDefVal = "true"
}

// pair checks that a certificate comes with its key.
func (g *guard) pair() error {
	switch {
	case g.certFile != "" && g.keyFile == "":
		return cli.Usagef("--%s: cannot be used without --%s", certFlag, keyFlag)
	case g.certFile == "" && g.keyFile != "":
		return cli.Usagef("--%s: cannot be used without --%s", keyFlag, certFlag)
	default:
		return nil
	}
}

// checkGuard checks the settings of a member's guard together.
func (c *config) checkGuard() error {
	switch {
	case c.secretFile != "" && c.Insecure:
		return cli.Usagef("--%s cannot be combined with --%s", insecureFlag, secretFlag)
	case c.secretFile != "" && len(c.HTTPHosts) > 0:
		return everyName(secretFlag)
	case c.secretFile == "" && c.certFile != "":
		return cli.Usagef("--%s: cannot be used without --%s", certFlag, secretFlag)
	case c.secretFile == "" && !c.ClientTLS:
		return cli.Usagef("--%s \"false\": cannot be used without --%s", tlsFlag, secretFlag)
	case c.secretFile == "" && len(c.TLSHosts) > 0:
		return cli.Usagef("--%s: cannot be used without --%s", hostsFlag, secretFlag)
	case len(c.TLSHosts) > 0 && c.certFile != "":
		return cli.Usagef("--%s cannot be combined with --%s", hostsFlag, certFlag)
	case !c.ClientTLS && c.certFile != "":
		return cli.Usagef("--%s \"false\" cannot be combined with --%s", tlsFlag, certFlag)
	default:
		return c.pair()
	}
}

// everyName refuses host names for browsers with a flag that makes every caller present a token.
func everyName(flag string) error {
	return cli.Usagef("--%s cannot be combined with --%s: browsers reach a secured cluster by every name", namesFlag, flag)
}

// openGuard opens the files of the guard.
func (c *config) openGuard(now func() time.Time) (err error) {
	if err := c.checkGuard(); err != nil {
		return err
	}
	if c.secretFile != "" {
		if c.Keys, err = trust.OpenKeys(c.secretFile); err != nil {
			return cli.Usagef("%v", err)
		}
	}
	if err = c.openAudit(); err != nil {
		return err
	}
	c.OwnCertificate, err = c.certificate(now)
	return err
}

// openAudit opens the file of the audit log, if one is set.
func (g *guard) openAudit() (err error) {
	if g.auditLog != "" {
		g.audit, err = newAuditFile(g.auditLog)
	}
	return err
}

// auditTo returns the audit log in the file; nil without a file.
func (g *guard) auditTo(logger *slog.Logger) *trust.AuditLog {
	if g.audit == nil {
		return nil
	}
	return trust.NewAuditLog(g.audit, logger)
}

// certificate reads the operator's custom certificate, if one is set.
func (g *guard) certificate(now func() time.Time) (*trust.OwnCertificate, error) {
	if g.certFile == "" {
		return nil, nil
	}
	own, err := trust.LoadOwnCertificate(g.certFile, g.keyFile, now)
	if err != nil {
		return nil, cli.Usagef("--%s: %v", certFlag, err)
	}
	return own, nil
}

// exposed returns the flag and the address of the first listener that other hosts reach; empty if only this host reaches the
// listeners. The addresses of the listeners that a gateway lacks are empty.
func exposed(c *server.Config) (flag, address string) {
	for _, l := range listeners {
		if address := *l.field(c); address != "" && !isLoopback(address) {
			return l.flag, address
		}
	}
	return "", ""
}

// isLoopback reports whether only programs on this host can reach an address.
func isLoopback(address string) bool {
	host, _, _ := net.SplitHostPort(address) // checked by its flag
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// admit returns an error for a member that every process on the network could command.
func (c *config) admit() error {
	flag, address := exposed(&c.Config)
	if c.Keys != nil || c.Insecure || flag == "" {
		return nil
	}
	return cli.Usagef("--%s %q: every process on the network could command this member; set --%s, or --%s to allow that", flag, address, secretFlag, insecureFlag)
}
