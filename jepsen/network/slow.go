//go:build linux

package network

import (
	"context"
	"fmt"
	"slices"
	"strconv"
)

// minRate is the least limit in bits per second. At this rate a full packet takes about 12 s.
const minRate = 1000

// Slow limits the rate at which each of the hosts sends to all others together, to bitsPerSecond, at least 1000. A packet
// is lost if the queue before it is longer than 16 KiB and takes more than 1 s. If a host has several limits, the
// lowest applies.
func (n *Net) Slow(ctx context.Context, hosts []string, bitsPerSecond int64) (*Fault, error) {
	if bitsPerSecond < minRate {
		return nil, fmt.Errorf("rate %d: expected at least %d bits per second", bitsPerSecond, minRate)
	}
	var parts []part
	for _, name := range slices.Compact(slices.Sorted(slices.Values(hosts))) {
		h, err := n.Host(name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{
			begin: func(ctx context.Context) error {
				return h.limit(ctx, func(rates []int64) []int64 { return append(rates, bitsPerSecond) })
			},
			end: func(ctx context.Context) error {
				return h.limit(ctx, func(rates []int64) []int64 {
					i := slices.Index(rates, bitsPerSecond)
					return slices.Delete(rates, i, i+1)
				})
			},
		})
	}
	return n.begin(ctx, parts)
}

// limit changes the limits of the host and sets its device to the lowest.
func (h *Host) limit(ctx context.Context, change func([]int64) []int64) error {
	h.limits.Lock()
	defer h.limits.Unlock()
	rates := change(slices.Clone(h.limits.rates))
	args := []string{"qdisc", "del", "dev", h.device, "root"}
	if len(rates) > 0 {
		rate := slices.Min(rates)
		// The bucket holds 10 ms of traffic, and at least two packets, because a smaller one passes no packet.
		burst, queue := max(rate/8/100, 3200), max(rate/8, 16<<10)
		args = []string{
			"qdisc", "replace", "dev", h.device, "root", "tbf", "rate", strconv.FormatInt(rate, 10) + "bit",
			"burst", strconv.FormatInt(burst, 10), "limit", strconv.FormatInt(queue, 10),
		}
	}
	if err := h.Run(ctx, "tc", args...); err != nil {
		return err
	}
	h.limits.rates = rates
	return nil
}
