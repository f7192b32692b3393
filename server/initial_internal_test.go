package server

import (
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/server/api"
)

func TestDifferencesOfInitialSettings(t *testing.T) {
	t.Parallel()
	cluster := api.ConfigMessage(Config{MaxWindow: time.Minute, Rollback: "swap"}.initial())
	for _, c := range []struct {
		given Config
		want  []difference
	}{
		{Config{}, nil},
		{Config{MaxWindow: time.Minute, WaitThreshold: time.Second, MaxClockOffset: 500 * time.Millisecond, Rollback: "swap"}, nil},
		{Config{MaxWindow: 10 * time.Minute}, []difference{{"max-window", "10m0s", "1m0s"}}}, // the default, but given
		{Config{WaitThreshold: time.Millisecond, MaxClockOffset: time.Second, Rollback: "refuse", RedisCreate: "strict", Upgrades: "manual"}, []difference{
			{"wait-threshold", "1ms", "1s"}, {"max-clock-offset", "1s", "500ms"}, {"rollback", "refuse", "swap"},
			{"redis-create", "strict", "off"}, {"upgrades", "manual", "auto"},
		}},
	} {
		given, err := c.given.given()
		if got := differences(given, cluster); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("differences(%+v) = %v, want %v; %v", c.given, got, c.want, err)
		}
	}
}
