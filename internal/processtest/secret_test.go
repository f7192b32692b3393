//go:build process

package processtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/trust"
)

// secretFile makes a secret and returns the flags of the members that share it.
func secretFile(t *testing.T) (flags []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(trust.NewSecret().Line()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--secret-file", path}
}

// admin returns the credentials by which a test may do everything at members with these flags.
func admin(t *testing.T, flags []string) credentials.TransportCredentials {
	t.Helper()
	i := slices.Index(flags, "--secret-file")
	if i < 0 {
		return insecure.NewCredentials()
	}
	keys, err := trust.OpenKeys(flags[i+1])
	if err != nil {
		t.Fatal(err)
	}
	config, err := trust.ClientTLS{Keys: keys}.Config()
	if err != nil {
		t.Fatal(err)
	}
	return credentials.NewTLS(config)
}
