package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// devToken is the name of the token that dev creates at its first start with a directory.
const devToken = "dev"

// devScopes are the scopes of an application that may use everything and administer only sequences.
var devScopes = []string{"ids:issue:*", "seq:next:*", "seq:read:*", "seq:decode:*", "seq:admin:*", "worker:lease:*", "cluster:read", "metrics:read"}

// secured holds the files of a secured dev, and the text of its token if this start created it.
type secured struct {
	secret, ca string
	token      string
}

// secure creates the secret of the cluster, or reads the secret of an earlier start.
func (f *fleet) secure() error {
	s := &secured{secret: filepath.Join(f.dir, "secret"), ca: filepath.Join(f.dir, "ca.pem")}
	secrets, err := trust.ReadSecrets(s.secret)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(f.dir, 0o700); err != nil {
			return fmt.Errorf("create data directory: %w", err)
		}
		secrets, err = []trust.Secret{trust.NewSecret()}, nil
		if err := os.WriteFile(s.secret, []byte(secrets[0].Line()+"\n"), 0o600); err != nil {
			return fmt.Errorf("write secret: %w", err)
		}
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.ca, secrets[0].Authority().PEM(), 0o600); err != nil {
		return fmt.Errorf("write CA: %w", err)
	}
	f.secured, f.access = s, cli.Access{SecretFile: s.secret}
	return nil
}

// firstToken creates the token of dev, unless an earlier start has created it.
func (f *fleet) firstToken(ctx context.Context) error {
	r, err := cli.Dial([]string{f.members[0].APIAddr()}, cli.DefaultTimeout, f.access)
	if err != nil {
		return err
	}
	defer r.Close()
	resp, err := r.Tokens.ListTokens(ctx, &snowraftv1.ListTokensRequest{PageSize: cli.PageSize})
	if err != nil {
		return err
	}
	for _, t := range resp.GetTokens() {
		if t.GetName() == devToken {
			return nil
		}
	}
	made, err := r.Tokens.CreateToken(ctx, &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{Name: devToken, Scopes: devScopes}})
	f.secured.token = made.GetText()
	return err
}

// hints returns the lines that precede the commands to try. program is the command that starts this program.
func (s *secured) hints(program string) string {
	token := "# the token \"" + devToken + "\" as printed at the first start, or another one: " + program + " token create --secret-file " + s.secret
	if s.token != "" {
		token = "export SNOWRAFT_TOKEN=" + s.token
	}
	return "\n  " + token + "\n  export REDISCLI_AUTH=$SNOWRAFT_TOKEN"
}
