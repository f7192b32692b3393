package cli

import (
	"crypto/tls"
	"errors"
	"os"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// The flags of an Access.
const (
	tokenFlag  = "token"
	caFlag     = "ca-file"
	secretFlag = "secret-file"
)

// Access holds the credentials of a command: none over plain TCP, a token, or the secret file of an administrator. A
// token and a secret file exclude each other.
type Access struct {
	Token              string
	CAFile, SecretFile string
}

// connection names the group of flags that connect to members.
const connection = "Connection"

// AddAccessFlags adds the flags of an Access to a client command, and that of a context.
func (a *App) AddAccessFlags(cmd *cobra.Command) {
	addCredentialFlags(cmd)
	a.addContextFlag(cmd)
}

// addCredentialFlags adds the flags of an Access.
func addCredentialFlags(cmd *cobra.Command) {
	AddTokenFlags(cmd, connection, "API token; prefer the variable, because other users see command lines")
	AddSetting(cmd, connection, secretFlag, FileValue(new(string)), "secret file of the cluster, which gives this command all rights")
	instead(cmd, secretFlag, tokenFlag)
	instead(cmd, tokenFlag, secretFlag)
}

// AddTokenFlags adds the flags of an Access by token.
func AddTokenFlags(cmd *cobra.Command, group, help string) {
	AddSetting(cmd, group, tokenFlag, tokenValue(), help)
	AddSetting(cmd, group, caFlag, FileValue(new(string)), "PEM file with CAs to verify members by, instead of the pin in the token")
}

// Access returns the credentials that the flags of a command give. It warns if other users can read the secret file.
func (a *App) Access(flags *pflag.FlagSet) Access {
	access := AccessOf(flags)
	a.CheckSecretFile(access.SecretFile)
	return access
}

// CheckSecretFile warns if other users can read a secret file; the path may be empty.
func (a *App) CheckSecretFile(path string) {
	if path != "" && trust.ReadableByOthers(path) {
		a.Warn("other users of this host can read the secret file %q; set its mode to 600", path)
	}
}

// AccessOf returns the credentials that the flags of a command give.
func AccessOf(flags *pflag.FlagSet) (a Access) {
	a.CAFile = flags.Lookup(caFlag).Value.String()
	if v, ok := flags.Lookup(tokenFlag).Value.(*Value); ok {
		a.Token = v.Hidden()
	}
	if f := flags.Lookup(secretFlag); f != nil {
		a.SecretFile = f.Value.String()
	}
	return a
}

// TLS returns the files and the token in the form that package trust takes. It reads the files; its errors are usage
// errors.
func (a Access) TLS() (t trust.ClientTLS, err error) {
	if a.Token != "" && a.SecretFile != "" {
		return t, Usagef("--%s cannot be combined with --%s", tokenFlag, secretFlag)
	}
	t.Token = a.Token
	if a.CAFile != "" {
		if t.CA, err = os.ReadFile(a.CAFile); err != nil {
			return t, Usagef("--%s %q: cannot be read (%v); choose a PEM file", caFlag, a.CAFile, Innermost(err))
		}
	}
	if a.SecretFile != "" {
		if t.Keys, err = trust.OpenKeys(a.SecretFile); err != nil {
			return t, Usagef("%v", err)
		}
	}
	return t, nil
}

// Config returns the configuration of TLS; nil for plain TCP. Its errors are usage errors.
func (a Access) Config() (*tls.Config, error) {
	t, err := a.TLS()
	if err != nil {
		return nil, err
	}
	config, err := t.Config()
	if err != nil {
		name := "--" + caFlag
		if a.CAFile == "" {
			name = "--" + tokenFlag
		}
		return nil, Usagef("%s: %v", name, err)
	}
	return config, nil
}

// Options returns the options of a client with these credentials. Its errors are usage errors.
func (a Access) Options() ([]client.Option, error) {
	t, err := a.TLS()
	if err != nil {
		return nil, err
	}
	var options []client.Option
	switch config, err := a.Config(); {
	case err != nil:
		return nil, err
	case t.Keys != nil:
		options = append(options, client.WithTransportCredentials(credentials.NewTLS(config)),
			client.WithDialOptions(grpc.WithAuthority(config.ServerName)))
	case t.CA != nil:
		options = append(options, client.WithCA(t.CA))
	}
	if t.Token != "" {
		options = append(options, client.WithToken(t.Token))
	}
	return options, nil
}

// tokenValue returns a value that accepts a token.
func tokenValue() *Value {
	var token string
	return &Value{
		Kind: "TOKEN", Expects: "a token as \"snowraft token create\" printed it",
		Text: func() string { return "" }, Hidden: func() string { return token },
		Parse: func(s string) bool {
			token = s
			_, err := trust.ParseToken(s)
			return err == nil
		},
	}
}

// secretText is a token or a line of a secret file.
var secretText = regexp.MustCompile(`snowraft_[0-9]+_\w+|snowraft-secret-[0-9]+:\w+`)

// hide removes tokens and secrets from a message that repeats the user's input.
func hide(text string) string { return secretText.ReplaceAllString(text, "(not shown)") }

// transportHint returns advice about a port that expects TLS, or that does not speak it; empty for other errors.
func transportHint(err error) string {
	switch {
	case errors.Is(err, rpc.ErrExpectsTLS):
		return "; set --token, --ca-file or --secret-file"
	case errors.Is(err, rpc.ErrNoTLS):
		return "; omit --token, --ca-file and --secret-file, or secure the member"
	default:
		return ""
	}
}
