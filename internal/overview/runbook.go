package overview

// Anchors of headings in docs/runbook.md.
const (
	runbookNoLeader     = "no-leader"
	runbookCutOff       = "member-cut-off"
	runbookBehind       = "clock-behind"
	runbookAhead        = "clock-ahead"
	runbookObserved     = "observed-clock-in-the-future"
	runbookWaits        = "member-waits-for-others"
	runbookDoesNotStart = "a-member-does-not-start"
	runbookForeign      = "members-that-cannot-understand-each-other"
	runbookWorkers      = "workers-exhausted"
	runbookRestored     = "restored-and-frozen"
)
