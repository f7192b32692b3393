package cli

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// ContextFlag is the flag that names the context of a command.
const ContextFlag = "context"

// Context is a cluster with the credentials for it, under a name of the user's.
type Context struct {
	Addr       string `yaml:"addr"` // value of --addr
	Token      string `yaml:"token,omitempty"`
	CAFile     string `yaml:"ca-file,omitempty"`
	SecretFile string `yaml:"secret-file,omitempty"`
}

// Contexts are the contexts of a user. They are in a file that only the user can read, because it may contain tokens.
type Contexts struct {
	Current string             `yaml:"current,omitempty"` // name of the context in use; empty without one
	All     map[string]Context `yaml:"contexts,omitempty"`
	path    string
}

// maxContextsBytes bounds the file of contexts.
const maxContextsBytes = 1 << 20

// Contexts reads the contexts of the user; there are none without a file. Its errors are usage errors. It refuses a file that other
// users can read or write.
func (a *App) Contexts() (*Contexts, error) {
	c := &Contexts{All: map[string]Context{}}
	if a.ConfigDir == nil {
		return c, nil
	}
	dir, err := a.ConfigDir()
	if err != nil {
		return c, nil // without a home directory there are no contexts
	}
	c.path = filepath.Join(dir, "snowraft", "contexts.yaml")
	f, err := os.Open(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, Usagef("contexts %q: cannot be read (%v); make the file readable, or delete it", c.path, Innermost(err))
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, Usagef("contexts %q: other users of this host can read the file, which may contain tokens; run: chmod 600 %[1]s", c.path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxContextsBytes+1))
	if err != nil || len(data) > maxContextsBytes {
		return nil, Usagef("contexts %q: cannot be read, or more than 1 MiB; delete the file", c.path)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, Usagef("contexts %q: expected YAML as \"snowraft context add\" writes it; correct or delete the file", c.path) // the error may quote a token
	}
	if c.All == nil {
		c.All = map[string]Context{}
	}
	return c, nil
}

// Save replaces the file of the contexts.
func (c *Contexts) Save() error {
	if c.path == "" {
		return errors.New("no directory for the configuration of this user; set HOME")
	}
	data, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	dir := filepath.Dir(c.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".contexts-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), c.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Names lists the names of the contexts.
func (c *Contexts) Names() []string { return slices.Sorted(maps.Keys(c.All)) }

// Get returns the context with a name. Its error is a usage error.
func (c *Contexts) Get(name string) (Context, error) {
	found, ok := c.All[name]
	if !ok {
		return found, Usagef("context %q: not found; see \"snowraft context list\"", name)
	}
	return found, nil
}

// ContextValue returns a value that accepts the name of a context.
func ContextValue(p *string) *Value {
	return textValue(p, "NAME", "1 to 64 letters, digits and the characters . _ -", IsContextName)
}

// IsContextName reports whether a context may have a name.
func IsContextName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
}

// CompleteContexts offers the names of contexts.
func (a *App) CompleteContexts(_ *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
	c, err := a.Contexts()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.DeleteFunc(c.Names(), func(name string) bool { return !strings.HasPrefix(name, begin) }), cobra.ShellCompDirectiveNoFileComp
}

// AddContextSettings adds the settings that a context holds. The function returns them as the flags give them.
func AddContextSettings(cmd *cobra.Command) func(*pflag.FlagSet) (Context, error) {
	var addresses []string
	AddSetting(cmd, connection, AddrFlag, AddressesValue(&addresses, "10.0.0.1:7700,10.0.0.2:7700"), "API addresses of members; required")
	addCredentialFlags(cmd)
	return func(flags *pflag.FlagSet) (c Context, err error) {
		if len(addresses) == 0 {
			return c, Usagef("missing --%s; give the API addresses of members", AddrFlag)
		}
		access := AccessOf(flags)
		if _, err := access.TLS(); err != nil { // the files must exist
			return c, err
		}
		c = Context{Addr: strings.Join(addresses, ","), Token: access.Token}
		for _, file := range []struct {
			from string
			to   *string
		}{{access.CAFile, &c.CAFile}, {access.SecretFile, &c.SecretFile}} {
			if file.from == "" {
				continue
			}
			if *file.to, err = filepath.Abs(file.from); err != nil {
				return c, err
			}
		}
		return c, nil
	}
}

// addContextFlag adds the flag that names a context.
func (a *App) addContextFlag(cmd *cobra.Command) {
	AddSetting(cmd, connection, ContextFlag, ContextValue(new(string)), "name of a context with the settings of the connection (see \"snowraft context add\")")
	// The only possible error is that the flag does not exist or was registered before.
	_ = cmd.RegisterFlagCompletionFunc(ContextFlag, func(cmd *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.CompleteContexts(cmd, nil, begin)
	})
}

// Resolve sets the settings of a client command that the command line does not give: from the environment, otherwise from the
// context. The context in use applies only if neither gives addresses: its credentials are for its own cluster.
func (a *App) Resolve(flags *pflag.FlagSet) error {
	name, c, err := a.contextOf(flags)
	if err != nil {
		return err
	}
	given := func(flag string) bool { return flags.Changed(flag) || a.Env(EnvName(flag)) != "" }
	values := map[string]string{AddrFlag: c.Addr, caFlag: c.CAFile}
	if !given(tokenFlag) && !given(secretFlag) { // they exclude each other
		values[tokenFlag], values[secretFlag] = c.Token, c.SecretFile
	}
	return Resolve(flags, a.Env, func(flag string) (text, where string, ok bool) {
		text = values[flag]
		return text, "context " + name + ": --" + flag, text != ""
	})
}

// contextOf returns the context of a command with its name; both are empty without one.
func (a *App) contextOf(flags *pflag.FlagSet) (name string, c Context, err error) {
	f := flags.Lookup(ContextFlag)
	if f == nil {
		return "", c, nil
	}
	if name = f.Value.String(); name == "" {
		name = a.Env(EnvName(ContextFlag))
	}
	if name == "" && (flags.Changed(AddrFlag) || a.Env(EnvName(AddrFlag)) != "") {
		return "", c, nil
	}
	all, err := a.Contexts()
	if err != nil {
		return "", c, err
	}
	if name == "" {
		name = all.Current
	}
	if name == "" {
		return "", c, nil
	}
	c, err = all.Get(name)
	return name, c, err
}
