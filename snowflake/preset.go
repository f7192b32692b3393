package snowflake

import (
	"slices"
	"time"
)

// presets are sorted by name. Each system publishes its fields and epoch at the place in the comment. Some
// presets only decode or only lease: see [Layout.CanIssue].
var presets = []*Layout{
	// github.com/baidu/uid-generator, DefaultUidGenerator's defaults: seconds since
	// 2016-05-20 in China. Full since 2024-11-20T13:24:16Z.
	preset("baidu", "time:28,worker:22,sequence:13", 1000, time.UnixMilli(1_463_673_600_000)),

	// github.com/dotnetcore/CAP, SnowflakeId since version 6. Its worker is above the time.
	leased("cap", "worker:10,time:41,sequence:12", 1, time.UnixMilli(1_288_834_974_657)),

	// github.com/Ahoo-Wang/CosId, MillisecondSnowflakeId and its COSID_EPOCH.
	preset("cosid", "time:41,worker:10,sequence:12", 1, time.UnixMilli(1_577_203_200_000)),

	// Snowraft's own layout.
	preset("default", "time:41,worker:10,sequence:12", 1, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)),

	// Discord's developer documentation, "Snowflakes". Discord's worker is the datacenter here, and its process
	// is the worker. 64 bits, so IDs are unsigned.
	preset("discord", "time:42,datacenter:5,worker:5,sequence:12", 1, time.UnixMilli(1_420_070_400_000)),

	// cn.hutool:hutool-core, Snowflake. The worker is Hutool's data center, in the upper 5 bits, and its worker.
	preset("hutool", "time:41,worker:10,sequence:12", 1, time.UnixMilli(1_288_834_974_657)),

	// "Sharding & IDs at Instagram" (2012). Instagram's shard is the worker. 64 bits.
	preset("instagram", "time:41,worker:13,sequence:10", 1, time.UnixMilli(1_314_220_021_721)),

	// 53 bits, so that every ID is exact in a JavaScript number (ECMAScript's Number.MAX_SAFE_INTEGER). The
	// workers are enough for members that crash again and again while earlier windows last. The default layout's
	// epoch.
	preset("jssafe", "time:41,worker:6,sequence:6", 1, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)),

	// github.com/Meituan-Dianping/Leaf, SnowflakeIDGenImpl. github.com/bwmarrin/snowflake has the same defaults.
	preset("leaf", "time:41,worker:10,sequence:12", 1, time.UnixMilli(1_288_834_974_657)),

	// github.com/mastodon/mastodon, lib/mastodon/snowflake.rb: Unix time, then 16
	// bits from a hash and a counter. There is no worker.
	preset("mastodon", "time:48,sequence:16", 1, time.UnixMilli(0)),

	// com.baomidou:mybatis-plus-core, Sequence. The worker is its data center, in the upper 5 bits, and its worker.
	preset("mybatis", "time:41,worker:10,sequence:12", 1, time.UnixMilli(1_288_834_974_657)),

	// NetEase Yunxin's article on its ID service.
	preset("netease", "time:41,worker:10,sequence:12", 1, time.UnixMilli(1_609_344_000_000)),

	// github.com/sony/sonyflake, version 1: ticks of 10 ms since 2014-09-01, and the machine below the
	// sequence.
	preset("sonyflake", "time:39,sequence:8,worker:16", 10, time.UnixMilli(1_409_529_600_000)),

	// com.github.f4b6a3:tsid-creator and io.hypersistence:hypersistence-tsid for 1024 nodes. 64 bits, and a counter that
	// begins at random in each tick.
	leased("tsid", "time:42,worker:10,sequence:12", 1, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)),

	// github.com/twitter-archive/snowflake, IdWorker.scala.
	preset("twitter", "time:41,datacenter:5,worker:5,sequence:12", 1, time.UnixMilli(1_288_834_974_657)),

	// github.com/yitter/IdGenerator, IdGeneratorOptions in all its languages except C#, whose epoch is eight hours later.
	preset("yitter", "time:51,worker:6,sequence:6", 1, time.UnixMilli(1_582_136_402_000)),
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

// leased returns a preset that only leases workers. Its spread is 0 because no lane issues its IDs.
func leased(name, fields string, unitMillis int64, epoch time.Time) *Layout {
	spec := preset(name, fields, unitMillis, epoch).Spec()
	spec.LeaseOnly, spec.Spread = true, 0
	return MustNew(spec)
}

// Preset returns the layout of a well-known system or library: baidu, cap, cosid, default, discord, hutool,
// instagram, jssafe, leaf, mastodon, mybatis, netease, sonyflake, tsid, twitter or yitter.
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
