package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// movedAt begins the text that replaces a number in Redis: INCR refuses it.
const movedAt = "moved to snowraft at "

// fenceKey replaces a number by the text that contains it, in one step. It removes the time to live: a key that expires would
// begin at 1 again.
var fenceKey = redis.NewScript(1, `
local value = redis.call('GET', KEYS[1])
if value and string.find(value, '^%-?%d+$') then
  value = ARGV[1] .. value
  redis.call('SET', KEYS[1], value)
end
return value`)

// redisSource is the keys of a Redis that programs increment.
type redisSource struct{ conn redis.ConnWithContext }

func openRedis(ctx context.Context, address, password string) (source, error) {
	var options []redis.DialOption
	if password != "" {
		options = append(options, redis.DialPassword(password)) // one in the address counts first
	}
	conn, err := redis.DialURLContext(ctx, address, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to Redis: %w", err)
	}
	s := &redisSource{conn.(redis.ConnWithContext)}
	if _, err := s.replicas(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *redisSource) counters(ctx context.Context, match func(string) bool) (counters []counter, err error) {
	keys, err := s.keys(ctx, match)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		value, err := redis.String(s.conn.DoContext(ctx, "GET", key))
		if errors.Is(err, redis.ErrNil) {
			continue // expired
		} else if err != nil {
			return nil, err
		}
		c, err := redisCounter(key, value)
		if err != nil {
			return nil, fmt.Errorf("%w; narrow --match to counters", err)
		}
		if seconds, err := redis.Int64(s.conn.DoContext(ctx, "TTL", key)); err != nil {
			return nil, err
		} else if seconds >= 0 {
			c.note = fmt.Sprintf("expires in %v, and would begin at 1: use a reset", time.Duration(seconds)*time.Second)
		}
		counters = append(counters, c)
	}
	return counters, nil
}

// keys returns the matching keys of strings, in ascending order.
func (s *redisSource) keys(ctx context.Context, match func(string) bool) (keys []string, err error) {
	for cursor := "0"; ; {
		var page []string
		answer, err := redis.Values(s.conn.DoContext(ctx, "SCAN", cursor, "COUNT", 1000, "TYPE", "string"))
		if err == nil {
			_, err = redis.Scan(answer, &cursor, &page)
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, slices.DeleteFunc(page, func(key string) bool { return !match(key) })...)
		if cursor == "0" {
			slices.Sort(keys)
			return slices.Compact(keys), nil // SCAN may return a key twice
		}
	}
}

// redisCounter returns the counter that a value is.
func redisCounter(key, value string) (counter, error) {
	digits, fenced := strings.CutPrefix(value, movedAt)
	last, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return counter{}, fmt.Errorf("key %q is not a counter: its value is not a 64-bit number", key)
	}
	return counter{name: key, last: last, used: true, increment: 1, fenced: fenced}, nil
}

func (s *redisSource) fence(ctx context.Context, key string) (counter, error) {
	value, err := redis.String(fenceKey.DoContext(ctx, s.conn, key, movedAt))
	if errors.Is(err, redis.ErrNil) {
		return counter{}, errors.New("it is gone: it has expired or was deleted, so its last number is unknown")
	} else if err != nil {
		return counter{}, err
	}
	return redisCounter(key, value)
}

// replicas returns the number of replicas. It fails on a server that is one itself.
func (s *redisSource) replicas(ctx context.Context) (int, error) {
	answer, err := redis.Values(s.conn.DoContext(ctx, "ROLE"))
	if err != nil {
		return 0, err
	}
	var role string
	var offset int64
	var replicas []any
	if _, err := redis.Scan(answer, &role, &offset, &replicas); err != nil || role != "master" {
		return 0, errors.New("the server is a replica: import from its primary")
	}
	return len(replicas), nil
}

// settle waits until all replicas have the fences: one of them may become the primary.
func (s *redisSource) settle(ctx context.Context) error {
	replicas, err := s.replicas(ctx)
	if err != nil || replicas == 0 {
		return err
	}
	reached, err := redis.Int(s.conn.DoContext(ctx, "WAIT", replicas, 5000))
	if err == nil && reached < replicas {
		err = fmt.Errorf("%d of %d replicas of Redis acknowledged the fence within 5 s; one of the others would issue numbers again after a failover: repair or remove it, and repeat the import", reached, replicas)
	}
	return err
}

func (s *redisSource) close() { _ = s.conn.Close() }
