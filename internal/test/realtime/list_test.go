package realtime

// mayMeasure holds the functions that may limit an elapsed real time, with the reason, keyed by FILE:FUNCTION.
var mayMeasure = map[string]string{
	"allocator/lease_close_test.go:TestCloseRacesWithTakes": "skips itself where only one processor runs",
	"internal/test/simtest/world_test.go:until":             "runs in bubbles only; tables of functions hide that",
}
