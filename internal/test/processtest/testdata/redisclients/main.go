// Program redisclients uses a Redis library of Go as an application does, for the test of internal/test/processtest. The programs of
// other languages in this folder do the same:
//
//	redisclients LIBRARY open ADDRESS           the default settings
//	redisclients LIBRARY secured ADDRESS TOKEN  TLS, with the CA in the file $CA
//	redisclients LIBRARY several ADDRESS...     any of several members
//
// The first two print a JSON object of the answers. The last prints a line after numbers of several keys, waits for a line of
// input, and prints another line after more numbers.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// client calls one library.
type client interface {
	incr(ctx context.Context, key string) (int64, error)
	incrBy(ctx context.Context, key string, n int64) (int64, error)
	get(ctx context.Context, key string) (string, error)
	// pipeline sends three INCRs together.
	pipeline(ctx context.Context, key string) ([]int64, error)
	do(ctx context.Context, args ...string) (any, error)
}

// settings of a client. All but address are optional.
type settings struct {
	address  string
	password string
	tls      *tls.Config
	dial     func(ctx context.Context) (net.Conn, error)
}

var libraries = map[string]func(settings) (client, error){
	"go-redis/redis/v8": openGoRedis8, "redis/go-redis/v9": openGoRedis9, "redis/rueidis": openRueidis, "valkey-io/valkey-go": openValkey,
	"gomodule/redigo": openRedigo, "mediocregopher/radix/v4": openRadix,
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(library, mode string, args []string) error {
	ctx := context.Background()
	s := settings{address: args[0]}
	switch mode {
	case "secured":
		pem, err := os.ReadFile(os.Getenv("CA"))
		if err != nil {
			return err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		s.password, s.tls = args[1], &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	case "several":
		s.dial = func(ctx context.Context) (net.Conn, error) { return dialAny(ctx, args) }
	}
	c, err := libraries[library](s)
	if err != nil {
		return err
	}
	if mode == "several" {
		return survive(ctx, c, library)
	}
	return use(ctx, c, library)
}

// dialAny connects to the first member that accepts.
func dialAny(ctx context.Context, addresses []string) (conn net.Conn, err error) {
	for _, address := range addresses {
		if conn, err = new(net.Dialer).DialContext(ctx, "tcp", address); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func use(ctx context.Context, c client, key string) error {
	out := map[string]any{}
	var failed error
	note := func(name string, answer any, err error) {
		if out[name] = answer; err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	n, err := c.incr(ctx, key)
	note("incr", n, err)
	n, err = c.incrBy(ctx, key, 9)
	note("incrby", n, err)
	last, err := c.get(ctx, key)
	note("get", last, err)
	several, err := c.pipeline(ctx, key)
	note("pipeline", several, err)
	ids, err := c.do(ctx, "SNOWRAFT.ID", "COUNT", "3")
	note("ids", ids, err)
	next, err := c.do(ctx, "SNOWRAFT.NEXT", "bills")
	note("next", next, err)
	late, err := c.do(ctx, "SNOWRAFT.NEXT", "receipts", "PERIOD", os.Getenv("LAST_YEAR"))
	note("late", late, err)
	return errors.Join(failed, json.NewEncoder(os.Stdout).Encode(out))
}

// survive takes numbers, and more numbers after each line of input. It may have to repeat them.
func survive(ctx context.Context, c client, key string) error {
	input := bufio.NewScanner(os.Stdin)
	for {
		for i := range 4 {
			name := fmt.Sprintf("%s/%d", key, i)
			for {
				_, err := c.incr(ctx, name)
				if err == nil {
					break
				}
				fmt.Fprintln(os.Stderr, err)
				time.Sleep(20 * time.Millisecond)
			}
		}
		fmt.Println("took numbers")
		if !input.Scan() {
			return input.Err()
		}
	}
}
