package layout

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowraft/snowraft/internal/collision"
	"github.com/snowraft/snowraft/snowflake"
)

// shortestLife is the least time for which a suggested layout issues IDs.
const shortestLife = 10 * 365 * 24 * time.Hour

// suggest returns a layout that never repeats an ID of the existing system, if it finds one. It tries the system's layout, that
// layout with another datacenter, and the preset "default" with an epoch that makes all its IDs greater.
func suggest(s existingSystem, now int64) (snowflake.Spec, bool) {
	var candidates []snowflake.Spec
	if s.layout != nil {
		spec := s.layout.Spec()
		candidates = append(candidates, spec)
		for spec.Datacenter = 1; spec.Datacenter < min(mostDatacenters, uint64(1)<<collision.Width(s.layout, snowflake.FieldDatacenter)); spec.Datacenter++ {
			candidates = append(candidates, spec)
		}
	}
	if _, greatest, ok := collision.Meet(s.ids, collision.Set{}); ok {
		spec := snowflake.Default().Spec()
		if parts, err := snowflake.Default().Unpack(greatest); err == nil && parts.Tick < now {
			// With this epoch, the present tick is later than the tick of the greatest ID. Whole days are readable.
			const day = int64(24 * time.Hour / time.Millisecond)
			spec.EpochMillis = (now - parts.Tick - 1) / day * day
			candidates = append(candidates, spec)
		}
	}
	for _, spec := range candidates {
		l, err := snowflake.New(spec)
		if err != nil || l.CanLease(now) != nil || l.CanLease(now+shortestLife.Milliseconds()) != nil {
			continue
		}
		if !meet(s, l, now).Meets {
			return spec, true
		}
	}
	return snowflake.Spec{}, false
}

// mostDatacenters bounds the datacenters that suggest tries.
const mostDatacenters = 64

// command returns the command that creates a layout.
func command(spec snowflake.Spec) string {
	line := "snowraft layout create NAME"
	presets := snowflake.Presets()
	if named, ok := snowflake.Preset(spec.Name); ok { // before presets with the same fields
		presets = slices.Insert(presets, 0, named)
	}
	for _, preset := range presets {
		known := preset.Spec()
		if snowflake.FormatFields(known.Fields) == snowflake.FormatFields(spec.Fields) && known.UnitMillis == spec.UnitMillis && known.EpochMillis == spec.EpochMillis {
			line += " --preset " + known.Name
			if spec.Datacenter != 0 {
				line += fmt.Sprintf(" --datacenter %d", spec.Datacenter)
			}
			return line
		}
	}
	line += " --fields " + snowflake.FormatFields(spec.Fields)
	if spec.UnitMillis != 1 {
		line += fmt.Sprintf(" --unit %s", time.Duration(spec.UnitMillis)*time.Millisecond)
	}
	line += " --epoch " + time.UnixMilli(spec.EpochMillis).UTC().Format("2006-01-02T15:04:05.999Z07:00")
	if spec.Datacenter != 0 {
		line += fmt.Sprintf(" --datacenter %d", spec.Datacenter)
	}
	return line
}
