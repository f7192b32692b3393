package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// behindProxies issues for a while through proxies, and returns the extensions that these saw.
func (p *player) behindProxies(ctx context.Context, judge func(path string, n int) fate) (extensions []extension, err error) {
	all, err := p.inFront(p.open, judge)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	var addresses []string
	for _, x := range all {
		addresses = append(addresses, x.address)
	}
	if err := p.call("open", args{"client": "c", "addresses": addresses}, nil); err != nil {
		return nil, err
	}
	if err := p.generator("g", args{"ready_ms": 30_000}); err != nil {
		return nil, err
	}
	var jobs []*job
	for _, with := range []args{
		{"kind": "generator", "name": "g", "threads": 2, "ms": 12_000, "count": 2_000_000},
		{"kind": "ids", "name": "c", "threads": 2, "ms": 12_000, "count": 100_000},
	} {
		j, err := p.run(p.driver, with)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	var lists [][]uint64
	for _, j := range jobs {
		list, _, err := j.issued()
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	err = eventually(ctx, func() error {
		all[0].mu.Lock()
		defer all[0].mu.Unlock()
		if extensions = slices.Clone(all[0].extensions); len(extensions) < 3 {
			return fmt.Errorf("the generator extended its window %d times", len(extensions))
		}
		return nil
	})
	return extensions, errors.Join(err, distinct(lists...))
}

// dropped loses answers.
func dropped(ctx context.Context, p *player) error {
	extensions, err := p.behindProxies(ctx, func(path string, n int) fate {
		return fate{drop: path == "/v1/workers:extend" && n%2 == 1 || strings.HasPrefix(path, "/v1/ids") && n%5 == 0}
	})
	if err != nil {
		return err
	}
	n, err := lost(extensions)
	if err == nil && n == 0 {
		err = errors.New("no extension lost its answer")
	}
	return err
}

// unanswered loses all answers about windows from the second extension on. The generator issues nothing beyond the window that it knows.
func unanswered(ctx context.Context, p *player) (err error) {
	all, err := p.inFront(p.open, func(path string, n int) fate {
		return fate{drop: path == "/v1/workers:extend" && n >= 2 || path == "/v1/workers:acquire" && n >= 2}
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	if err := p.call("open", args{"client": "c", "addresses": []string{all[0].address, all[2].address}, "timeout_ms": 1000}, nil); err != nil {
		return err
	}
	if err := p.generator("g", nil); err != nil {
		return err
	}
	list, err := p.drain(ctx)
	if err != nil {
		return err
	}
	return errors.Join(all[0].covers(list), ascending(list))
}

// repeated delivers requests twice, and answers late.
func repeated(ctx context.Context, p *player) error {
	_, err := p.behindProxies(ctx, func(path string, n int) fate {
		f := fate{twice: n%2 == 0}
		if path == "/v1/workers:extend" && n%3 == 0 {
			f.late = 1500 * time.Millisecond
		}
		return f
	})
	return err
}

// sealed refuses an extension, because the cluster is sealed. The generator stops before its window ends: another process may have
// been granted the same.
func sealed(ctx context.Context, p *player) (err error) {
	var since atomic.Int64
	all, err := p.inFront(p.open, func(path string, n int) fate {
		f := fate{seal: strings.HasPrefix(path, "/v1/workers:") && path != "/v1/workers:release" && (path == "/v1/workers:extend" && n >= 2 || since.Load() > 0)}
		if f.seal {
			since.CompareAndSwap(0, time.Now().UnixMilli())
		}
		return f
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	if err := p.call("open", args{"client": "c", "addresses": []string{all[0].address, all[1].address}, "timeout_ms": 1000}, nil); err != nil {
		return err
	}
	if err := p.generator("g", nil); err != nil {
		return err
	}
	err = eventually(ctx, func() error {
		_, err := p.refused("next", args{"generator": "g", "count": 1}, "SET_BACK")
		return err
	})
	if err != nil {
		return err
	}
	var s state
	if err := p.call("status", args{"generator": "g"}, &s); err != nil {
		return err
	}
	if late := time.Since(time.UnixMilli(since.Load())); late > 2*time.Second {
		return fmt.Errorf("stopped %v after the cluster was sealed", late)
	}
	return nil
}

// clocks sets the clock of a generator.
func clocks(ctx context.Context, p *player) error {
	if err := p.call("open", args{"client": "c", "addresses": p.open.addresses(), "timeout_ms": 1500}, nil); err != nil {
		return err
	}
	began := time.Now()
	var jumped time.Duration // jump of the monotonic clock
	set := func(off time.Duration) error {
		now := time.Now()
		ran := 100*time.Hour + now.Sub(began) + jumped
		return p.call("clock", args{"clock": "k", "wall_ms": now.Add(off).UnixMilli(), "monotonic_ms": ran.Milliseconds()}, nil)
	}
	// The clock stands still between two settings, so each step sets it again.
	var all []uint64
	issues := func() error {
		return eventually(ctx, func() error {
			if err := set(0); err != nil {
				return err
			}
			some, err := p.take("next", args{"generator": "g"}, 1)
			all = append(all, some...)
			return err
		})
	}
	if err := set(0); err != nil {
		return err
	}
	if err := p.whileRunning(set, func() error { return p.generator("g", args{"clock": "k"}) }); err != nil {
		return err
	}
	if err := issues(); err != nil {
		return fmt.Errorf("with the right clock: %w", err)
	}
	for _, tc := range []struct {
		off    time.Duration
		reason string
	}{{-3 * time.Second, "CLOCK_BEHIND"}, {2 * time.Second, "CLOCK_SKEW"}, {time.Hour, "CLOCK_SKEW"}, {-time.Hour, "CLOCK_BEHIND"}} {
		if err := set(tc.off); err != nil {
			return err
		}
		f, err := p.refused("next", args{"generator": "g", "count": 1}, tc.reason)
		if err != nil {
			return fmt.Errorf("clock off by %v: %w", tc.off, err)
		}
		if !f.Retry {
			return fmt.Errorf("clock off by %v: %w, without retry", tc.off, f)
		}
		if err := issues(); err != nil {
			return fmt.Errorf("after the clock was off by %v: %w", tc.off, err)
		}
	}
	// The wall clock is right, and the monotonic one jumps, or stood still: until members answer, either may be wrong.
	for _, jump := range []time.Duration{2 * time.Second, time.Hour, -2 * time.Second, -time.Hour} {
		jumped += jump
		for range 5 {
			if err := issues(); err != nil {
				return fmt.Errorf("after the monotonic clock jumped by %v: %w", jump, err)
			}
		}
	}
	for _, id := range all {
		if off := time.Since(snowflake.Default().TimeOf(id)).Abs(); off > time.Since(began)+time.Second {
			return fmt.Errorf("ID %d is %v off the clock", id, off)
		}
	}
	return distinct(all)
}

// whileRunning calls open, and sets the clock again and again meanwhile: members refuse to grant a window to a clock that stood still.
func (p *player) whileRunning(set func(off time.Duration) error, open func() error) (err error) {
	opened, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-opened:
				ended <- nil
				return
			case <-time.After(20 * time.Millisecond):
				if err := set(0); err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	err = open()
	close(opened)
	return errors.Join(err, <-ended)
}

// token creates a token and returns its text.
func (c *cluster) token(ctx context.Context, name string, scopes ...string) (string, error) {
	argv := []string{"token", "create", name}
	for _, scope := range scopes {
		argv = append(argv, "--scope", scope)
	}
	out, err := c.admin(ctx, argv...)
	if err != nil {
		return "", err
	}
	for word := range strings.FieldsSeq(out) {
		if strings.HasPrefix(word, "snowraft_") {
			return word, nil
		}
	}
	return "", fmt.Errorf("no token in %d bytes of output", len(out))
}

// tokens uses tokens with and without rights, and deletes one.
func tokens(ctx context.Context, p *player) error {
	text, err := p.secured.token(ctx, p.unique("t"), "ids:issue:default", "worker:lease:default", "cluster:read")
	if err != nil {
		return err
	}
	if err := p.call("open", args{"client": "c", "addresses": p.secured.addresses(), "token": text}, nil); err != nil {
		return err
	}
	if _, err := p.take("ids", args{"client": "c"}, 10); err != nil {
		return err
	}
	if p.has("generator") {
		if err := p.generator("g", nil); err != nil {
			return err
		}
		if _, err := p.take("next", args{"generator": "g"}, 10); err != nil {
			return err
		}
	}
	f, err := p.refused("numbers", args{"client": "c", "sequence": "orders", "count": 1}, "PERMISSION_DENIED")
	if err != nil {
		return err
	}
	if f.Retry || strings.Contains(f.Message, text) {
		return fmt.Errorf("a right that lacks: %w, retry %v", f, f.Retry)
	}
	if _, err := p.secured.admin(ctx, "token", "delete", p.unique("t")); err != nil {
		return err
	}
	if err := p.unauthenticated(ctx, "c"); err != nil {
		return fmt.Errorf("a deleted token: %w", err)
	}
	return p.expiry(ctx)
}

// expiry uses a token that works, and then expires.
func (p *player) expiry(ctx context.Context) error {
	text, err := p.secured.token(ctx, p.unique("short"), "ids:issue:default")
	if err != nil {
		return err
	}
	if err := p.call("open", args{"client": "short", "addresses": p.secured.addresses(), "token": text}, nil); err != nil {
		return err
	}
	if _, err := p.take("ids", args{"client": "short"}, 10); err != nil {
		return err
	}
	if _, err := p.secured.admin(ctx, "token", "update", p.unique("short"), "--expires", "1s"); err != nil {
		return err
	}
	if err := p.unauthenticated(ctx, "short"); err != nil {
		return fmt.Errorf("an expired token: %w", err)
	}
	return nil
}

// unauthenticated waits until a client's token is refused.
func (p *player) unauthenticated(ctx context.Context, client string) error {
	return eventually(ctx, func() error {
		_, err := p.refused("ids", args{"client": client, "count": 1}, "UNAUTHENTICATED")
		return err
	})
}

// pins connects with a pin to servers that have not its certificate. None hears the token.
func pins(ctx context.Context, p *player) error {
	text, err := p.secured.token(ctx, p.unique("t"), "ids:issue:default")
	if err != nil {
		return err
	}
	impostor, err := selfSigned()
	if err != nil {
		return err
	}
	for _, cert := range []*tls.Certificate{impostor, nil} {
		if err := p.unheard(text, cert); err != nil {
			return err
		}
	}
	return nil
}

// unheard connects with a token to a server that has a certificate, or none. The server must not hear the token.
func (p *player) unheard(text string, cert *tls.Certificate) error {
	r, err := p.record(cert)
	if err != nil {
		return err
	}
	name := r.address
	if err := p.call("open", args{"client": name, "addresses": []string{r.address}, "token": text, "timeout_ms": 2000}, nil); err != nil {
		return err
	}
	_, err = p.refused("ids", args{"client": name, "count": 1}, "PIN_MISMATCH", "UNAVAILABLE", "TIMEOUT")
	_ = r.listens.Close()
	secret := strings.Split(text, "_")[2]
	if r.heard(secret) || r.heard("uthorization") {
		return fmt.Errorf("a server with another certificate, or none (TLS: %v), heard the token", cert != nil)
	}
	return err
}
