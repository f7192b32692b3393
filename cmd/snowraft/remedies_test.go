package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// otherCA returns the certificate of a CA that issued nothing, in PEM.
func otherCA(t *testing.T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// With a wrong CA, a process runs at the address: another CA helps, and no other process.
func TestWrongCA(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.EnableHTTP2, server.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		ca   []byte
		want string
	}{
		"a public CA":        {otherCA(t), "; set --ca-file to the CA that issued the certificate\n"},
		"a cluster's own CA": {trust.NewSecret().Authority().PEM(), "; use the pin, CA or secret file of that secret"},
	} {
		ca := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, c.ca, 0o600); err != nil {
			t.Fatal(err)
		}
		_, stderr, _ := command(t, "id", "--addr", server.Listener.Addr().String(), "--ca-file", ca)
		if !strings.Contains(stderr, c.want) || strings.Contains(stderr, "snowraft serve") {
			t.Errorf("%s: %q, want %q in it", name, stderr, c.want)
		}
	}
}

// Errors of members name fields; the command line has flags.
func TestForceIsAFlag(t *testing.T) {
	t.Parallel()
	api := clitest.NewAPI(t)
	for field, flag := range map[string]string{"force": "--force", "force_format": "--force-format"} {
		api.Refuse(&rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.WouldRepeat, Message: "it may repeat numbers; start beyond them, or set " + field})
		if _, stderr, _ := command(t, "seq", "set", "a", "2", "--addr", api.Address); !strings.Contains(stderr, "or set "+flag+" [") {
			t.Errorf("%q", stderr)
		}
	}
}
