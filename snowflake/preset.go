package snowflake

import (
	"slices"
	"time"
)

// presets are sorted by name. Each system publishes its fields and epoch at the place in the comment. Some
// presets only decode: see [Layout.CanIssue].
var presets = []*Layout{
	// github.com/baidu/uid-generator, DefaultUidGenerator's defaults: seconds since
	// 2016-05-20 in China. Full since 2024-11-20T13:24:16Z.
	preset("baidu", "time:28,worker:22,sequence:13", 1000, time.UnixMilli(1_463_673_600_000)),

	// github.com/Ahoo-Wang/CosId, MillisecondSnowflakeId and its COSID_EPOCH.
	preset("cosid", "time:41,worker:10,sequence:12", 1, time.UnixMilli(1_577_203_200_000)),

	// Snowraft's own layout.
	preset("default", "time:41,worker:10,sequence:12", 1, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)),

	// Discord's developer documentation, "Snowflakes". Discord's worker is the datacenter here, and its process
	// is the worker. 64 bits, so IDs are unsigned.
	preset("discord", "time:42,datacenter:5,worker:5,sequence:12", 1, time.UnixMilli(1_420_070_400_000)),

	// "Sharding & IDs at Instagram" (2012). Instagram's shard is the worker. 64 bits.
	preset("instagram", "time:41,worker:13,sequence:10", 1, time.UnixMilli(1_314_220_021_721)),

	// 53 bits, so that every ID is exact in a JavaScript number (ECMAScript's Number.MAX_SAFE_INTEGER). The
	// workers are enough for members that crash again and again while earlier windows last. The default layout's
	// epoch.
	preset("jssafe", "time:41,worker:6,sequence:6", 1, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)),

	// github.com/mastodon/mastodon, lib/mastodon/snowflake.rb: Unix time, then 16
	// bits from a hash and a counter. There is no worker.
	preset("mastodon", "time:48,sequence:16", 1, time.UnixMilli(0)),

	// NetEase Yunxin's article on its ID service.
	preset("netease", "time:41,worker:10,sequence:12", 1, time.UnixMilli(1_609_344_000_000)),

	// github.com/sony/sonyflake, version 1: ticks of 10 ms since 2014-09-01, and the machine below the
	// sequence.
	preset("sonyflake", "time:39,sequence:8,worker:16", 10, time.UnixMilli(1_409_529_600_000)),

	// github.com/twitter-archive/snowflake, IdWorker.scala.
	preset("twitter", "time:41,datacenter:5,worker:5,sequence:12", 1, time.UnixMilli(1_288_834_974_657)),
}

var defaultLayout, _ = Preset("default")

func preset(name, fields string, unitMillis int64, epoch time.Time) *Layout {
	// A typing error leaves no fields, and MustNew panics.
	parsed, _ := ParseFields(fields)
	return MustNew(Spec{
		Name:        name,
		Fields:      parsed,
		UnitMillis:  unitMillis,
		EpochMillis: epoch.UnixMilli(),
		Spread:      DefaultSpread(parsed),
	})
}

// Preset returns the layout of a well-known system: baidu, cosid, default, discord,
// instagram, jssafe, mastodon, netease, sonyflake or twitter.
func Preset(name string) (*Layout, bool) {
	i := slices.IndexFunc(presets, func(l *Layout) bool { return l.Name() == name })
	if i < 0 {
		return nil, false
	}
	return presets[i], true
}

// Presets returns all presets, sorted by name.
func Presets() []*Layout { return slices.Clone(presets) }

// Default returns the preset "default": 41 bits of milliseconds since
// 2025-01-01T00:00:00Z, 10 bits of worker, 12 bits of sequence.
func Default() *Layout { return defaultLayout }
