//go:build linux

package network

import (
	"context"
	"fmt"
	"slices"
	"strconv"
)

// minRate is that of a packet in a quarter of a minute.
const minRate = 1000

// Slow limits what each of the hosts sends, to all others together, to so many bits
// in a second, 1000 at least. What waits for more than a second, and has more than
// 16 KiB before it, is lost. Of several limits at the same time the lowest holds.
func (n *Net) Slow(ctx context.Context, hosts []string, bitsPerSecond int64) (*Fault, error) {
	if bitsPerSecond < minRate {
		return nil, fmt.Errorf("a host can't be slowed down to %d bits in a second: it must be at least %d", bitsPerSecond, minRate)
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
		// A bucket of 10 ms, or else of two packets, as a smaller one passes none.
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
