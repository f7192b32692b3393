package realtime

// mayMeasure holds the functions that may limit an elapsed real time, with the reason, keyed by FILE:FUNCTION.
var mayMeasure = map[string]string{
	"allocator/lease_close_test.go:TestCloseRacesWithTakes": "skips itself where only one processor runs",
	"internal/simtest/world_test.go:until":                  "runs in bubbles only; tables of functions hide that",

	"server/carry_limits_test.go:prompt":                              open,
	"server/carry_test.go:TestWaitingStreamRequestsDelayNoOthers":     open,
	"server/carry_test.go:passed":                                     "is the end of a wait, and no limit",
	"server/clock_test.go:TestClockBackUnderSwapKeepsIssuing":         open,
	"server/console/stream_test.go:TestSlowViewerLosesTheStream":      open,
	"server/disk_test.go:TestDataDirectoryInUse":                      open,
	"server/events_test.go:TestEventsOfAllMembers":                    open,
	"server/gateway_close_test.go:TestGatewayCloses":                  open,
	"server/metrics_test.go:exercise":                                 open,
	"server/recovery_test.go:TestCloseDoesNotWaitForSilentPeers":      open,
	"server/sequence_changes_test.go:TestChangesNameUnreachedMembers": open,
	"server/services_test.go:TestDecodeAndWorkers":                    open,
	"server/services_test.go:TestMissingLeaderIsReportedAfterWait":    open,
	"server/uuid_test.go:TestUUIDCounts":                              open,
}

// open marks tests that are still to be moved into synthetic time.
const open = "waits for real members"
