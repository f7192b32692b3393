package s3test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

// The account of the server. No output may contain the secret.
const (
	accessKey = "AKIASNOWRAFTTEST"
	secretKey = "wJalrXUtnFEMIK7MDENGbPxRfiCYTESTKEY"
)

// bucket is the only bucket of the server.
const bucket = "backups"

// s3 is the server of all tests: a process can run one.
var s3 struct {
	endpoint string
	files    string // directory with the objects of the bucket
}

// repository is the root of the repository.
var repository string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if repository, err = filepath.Abs("../../.."); err != nil { // the server changes the working directory
		panic(err)
	}
	dir, err := os.MkdirTemp("", "s3test-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = start(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "s3test:", err)
		return 1
	}
	for name, value := range environment() {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// environment returns the variables of a process that uses the server.
func environment() map[string]string {
	return map[string]string{
		"AWS_ENDPOINT_URL": s3.endpoint, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey,
		"AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true",
	}
}

// start runs the server until the process exits.
func start(dir string) error {
	s3.files = filepath.Join(dir, "root", bucket)
	side := filepath.Join(dir, "meta")
	for _, d := range []string{s3.files, side} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	attributes, err := meta.NewSideCar(side)
	if err != nil {
		return err
	}
	store, err := posix.New(filepath.Dir(s3.files), attributes, posix.PosixOpts{SideCarDir: side})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	s3.endpoint = "http://" + address
	failed := make(chan error, 1)
	go func() {
		failed <- embedgw.RunVersityGW(context.Background(), store, &embedgw.Config{
			RootUserAccess: accessKey, RootUserSecret: secretKey, Region: "eu-central-1", Ports: []string{address},
			MaxConnections: 1000, MaxRequests: 500, MultipartMaxParts: 10_000, KeepAlive: true, Quiet: true, HealthPath: "/healthz",
		})
	}()
	for {
		resp, err := http.Get(s3.endpoint + "/healthz")
		if err == nil {
			return resp.Body.Close()
		}
		select {
		case err := <-failed:
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
